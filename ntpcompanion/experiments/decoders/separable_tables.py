"""Random tables that are separable, with the solutions of their next-token SVM."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable

ATTEMPTS = 10  # tables drawn for each that is wanted
Solved = tuple[ContextTable, Float[np.ndarray, "V d"]]


def separable_tables(
    sizes: tuple[int, int, int, int],
    wanted: int,
    generator: Callable[[int], np.random.Generator],
    *,
    tol: float,
) -> tuple[list[Solved], int]:
    """The first `wanted` separable ones of random tables of sizes m, V, S and d, each with W^mm,
    and how many were drawn for them; `generator` makes the random numbers of the draw with a
    number.

    Raises ValueError if too few of ten times as many tables are separable.
    """
    solved: list[Solved] = []
    for draw in range(ATTEMPTS * wanted):
        table = ContextTable.random(*sizes, generator(draw))
        svm = solve_ntp_svm(table, tol=tol).weights
        if svm is not None:
            solved.append((table, svm))
        if len(solved) == wanted:
            return solved, draw + 1
    raise ValueError(
        f"`dim` = {sizes[-1]} is too small: {len(solved)} of {ATTEMPTS * wanted} tables are "
        "separable. Take more dimensions or fewer contexts."
    )

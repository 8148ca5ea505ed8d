"""Three contexts in the plane over five words, as in Figure 2 of Thrampoulidis (2024)."""

from collections.abc import Sequence

import numpy as np

from ntpcompanion.checks import Size, checked
from ntpcompanion.linear.separability.compatibility import CompatibilityVerdict, check_compatibility
from ntpcompanion.linear.separability.decision import Verdict, check_separability
from ntpcompanion.linear.svm.next_token_svm import NTPSVMSolution, solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable

# The words, from 1 to 5, that can follow each context of the figure.
SUPPORTS = ((2, 3, 4), (1, 2, 5), (1, 4, 5))
ROUGH = 0.05  # the duality gap at which most tables are out of the race


@checked
def planar_tables(draws: Size, rng: np.random.Generator) -> list[ContextTable]:
    """Tables of three contexts in the plane with the supports of Figure 2: those of `draws` random
    ones that are both compatible and separable, often none of ten.

    Embeddings are uniform on the circle, next-word distributions uniform on the simplex and then
    restricted to the support; contexts are equally frequent.

    Parameters
    ----------
    draws
        how many tables are drawn, at least 1.
    rng
        the source of randomness.

    Returns
    -------
    list of ContextTable
        the compatible and separable ones, in the order of their draws.

    Raises
    ------
    ValueError
        `draws` below 1.

    Notes
    -----
    Cost `draws` checks of tiny tables.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import planar_tables
    >>> {table.embeddings.shape for table in planar_tables(100, np.random.default_rng(0))}
    {(3, 2)}
    """
    support = np.zeros((3, 5))
    for context, words in enumerate(SUPPORTS):
        support[context, np.array(words) - 1] = 1
    tables = []
    for _ in range(draws):
        angles, distributions = rng.uniform(0, 2 * np.pi, 3), rng.dirichlet(np.ones(5), 3) * support
        distributions /= distributions.sum(axis=1, keepdims=True)
        arrows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        table = ContextTable(arrows, distributions, np.full(3, 1 / 3))
        if (
            check_compatibility(table).verdict is CompatibilityVerdict.COMPATIBLE
            and check_separability(table).verdict is Verdict.SEPARABLE
        ):
            tables.append(table)
    return tables


def widest_margin(
    tables: Sequence[ContextTable], *, tol: float = 1e-12
) -> tuple[ContextTable, NTPSVMSolution]:
    """The table with the widest margin at norm 1, that is, whose next-token SVM has the solution of
    least norm; and that solution, to the relative duality gap `tol`.

    All are solved roughly first, and exactly only those whose lower bound leaves them in the race.

    Parameters
    ----------
    tables
        the candidates.
    tol
        the relative duality gap of the solution.

    Returns
    -------
    tuple of ContextTable and NTPSVMSolution
        the table, and the solution of its next-token SVM.

    Raises
    ------
    ValueError
        there are no tables, or one of them is not separable.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, widest_margin
    >>> p, pi = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.5])
    >>> tables = [ContextTable(scale * np.eye(2), p, pi) for scale in (1.0, 2.0)]
    >>> widest_margin(tables)[0] is tables[1]
    True
    """
    rough = [solve_ntp_svm(table, tol=max(tol, ROUGH)) for table in tables]
    norms = [np.linalg.norm(each.weights) for each in rough if each.weights is not None]
    if not norms or len(norms) < len(tables):
        raise ValueError(
            f"`tables` must hold separable tables, got {len(tables)} of which {len(norms)} have a "
            "solution. Draw more tables, or leave the others out."
        )
    minimum, solved = min(norms), []
    for table, norm, each in zip(tables, norms, rough, strict=True):
        # the gap is that of squared norms
        if norm * np.sqrt(1 - min(each.duality_gap, 1.0)) <= minimum:
            solution = solve_ntp_svm(table, tol=tol)
            assert solution.weights is not None  # the first rounds are those of the rough one
            solved.append((float(np.linalg.norm(solution.weights)), table, solution))
    return min(solved, key=lambda each: each[0])[1:]

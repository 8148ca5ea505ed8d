"""The dimension at which a table becomes separable, by bisection over nested embeddings."""

from dataclasses import dataclass

from ntpcompanion.linear.separability.decision import Verdict, check_separability
from ntpcompanion.linear.tables.contexts import ContextTable


@dataclass(frozen=True)
class Crossing:
    """The smallest d that was proved separable, None if not even all dimensions separate, and the
    largest d that was proved not separable, 0 if there is none: one less, unless a check was
    undecided.
    """

    separable_from: int | None
    not_separable_to: int


def separability_crossing(table: ContextTable, *, max_iterations: int = 6_300) -> Crossing:
    """The smallest d for which the first d coordinates of the embeddings make the table separable
    (Thrampoulidis 2024, equation 6).

    A decoder of the first d coordinates is one of the first d + 1 with a zero column, so
    separability, once there, stays: bisection finds the crossing with log2(dim) checks. An
    undecided check ends the search, and the two proved sides are returned. Raises `ValueError` for
    `max_iterations` below 1.
    """
    low, high = 0, table.dim + 1
    d = table.dim  # the far end first: if all dimensions do not separate, one check says so
    while high - low > 1:
        verdict = check_separability(
            _first_coordinates(table, d), max_iterations=max_iterations
        ).verdict
        if verdict is Verdict.UNDECIDED:
            break
        low, high = (low, d) if verdict is Verdict.SEPARABLE else (d, high)
        d = (low + high) // 2
    return Crossing(high if high <= table.dim else None, low)


def _first_coordinates(table: ContextTable, d: int) -> ContextTable:
    return ContextTable(table.embeddings[:, :d], table.next_token, table.weight)

"""Tables that the ascent of the next-token SVM does not reach: zero embeddings, and lengths near
the ends of floating point.
"""

from ntpcompanion.linear.separability.decision import Separability, Verdict, check_separability
from ntpcompanion.linear.separability.feasibility_search import certificate_of_zero_rows
from ntpcompanion.linear.separability.ties import unit_rows
from ntpcompanion.linear.tables.contexts import ContextTable


def refuted_or_refused(
    table: ContextTable, longest: float, time_limit: float | None = None
) -> Separability | None:
    """The verdict without an ascent, or None for an ordinary table.

    Parameters
    ----------
    longest
        embeddings whose length leaves 1 / longest … longest are out of range: the objective of the
        dual, of the order of 1 / length⁴, would overflow.
    time_limit
        of `check_separability`, which needs no lengths and decides where they are out of range.

    Returns
    -------
    NOT_SEPARABLE with a certificate, or UNDECIDED.

    Raises
    ------
    ValueError
        a separable table whose embeddings are out of range.
    """
    certificate = certificate_of_zero_rows(table.embeddings, table.support.toarray())
    if certificate is not None:
        return Separability(Verdict.NOT_SEPARABLE, certificate=certificate)
    lengths = unit_rows(table.embeddings)[1]
    if 1 / longest <= lengths.min() and lengths.max() <= longest:
        return None
    found = check_separability(table, time_limit=time_limit)
    if found.verdict is Verdict.SEPARABLE:
        raise ValueError(
            f"`table` has embeddings of lengths {lengths.min():.3g} … {lengths.max():.3g}, outside "
            f"of {1 / longest:g} … {longest:g}, where powers of its multipliers stay finite. "
            "Multiply all embeddings by one number; the decoder is divided by it."
        )
    return found

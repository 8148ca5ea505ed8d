"""`measure`: the one way in which a notebook states a number that decides a claim; `glue_all`: the
numbers that its text shows.

The number becomes an output of the cell, under a MIME type of its own. The runner collects these
outputs; the page renders them beside what its claim expects. There is no global store, and nothing
is written here.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, SupportsFloat, SupportsIndex, runtime_checkable

from ntpcompanion.workflow.claims.measurement import Measurement

MEASURED = "ntpcompanion.measure"  # an audit event of Python, which `tracing` knows
MEASUREMENT_MIME = "application/vnd.ntpcompanion.measurement+json"
RECORD_MIME = "application/vnd.ntpcompanion.record+json"

Number = SupportsFloat  # of Python, NumPy or torch


@runtime_checkable
class Estimate(Protocol):
    """A mean over replicates with its standard error, such as an effect over seeds."""

    mean: Any
    stderr: Any
    replicates: Any


def measure(
    claim: str,
    value: Number | Sequence[Number] | Estimate,
    *,
    stderr: Number | Sequence[Number] | None = None,
    replicates: SupportsIndex | None = None,
    seed: SupportsIndex | None = None,
    records: str | Sequence[str] = (),
) -> None:
    """Display the measured value of a claim, and hand it to whoever executes the notebook.

    Parameters
    ----------
    claim
        id of an item of `book/claims.yml` or `book/claims/NAME.yml`.
    value
        a number, or a sequence of numbers where the claim is about an order (increasing,
        decreasing); or an estimate, whose `mean`, `stderr` and `replicates` are taken.
    stderr
        standard error of each value, in its units; it covers everything that is random in the
        number, the seed of a training included. Without it, a number is exact.
    replicates
        how many independent replicates `stderr` was estimated from: runs, draws or sentences,
        whichever were independent. The interval is Student's, with one degree of freedom less.
    seed
        the seed behind what was drawn, shown on the card.
    records
        name or names of the recorded runs that the value was computed from; the card shows where,
        when and with which parameters those were made.

    Raises
    ------
    ValueError
        an id that no claim can have, an empty sequence, a value that is not finite, a negative
        standard error or seed, a standard error without `replicates`.
    """
    number: Any = value
    if isinstance(value, Estimate):
        number = value.mean
        stderr = value.stderr if stderr is None else stderr
        replicates = value.replicates if replicates is None else replicates
    error = 0.0 if stderr is None else stderr
    item = Measurement.of(
        claim, number, stderr=error, replicates=replicates, seed=seed, records=records
    )
    # heard by the runner, whatever becomes of the display
    sys.audit(MEASURED, claim)
    try:
        from IPython.core.getipython import get_ipython
        from IPython.display import display
    except ImportError:
        print(item)
        return
    if get_ipython() is None:
        print(item)
        return
    html = f"<p><code>{item}</code></p>"
    display(
        {MEASUREMENT_MIME: item.to_json(), "text/html": html, "text/plain": str(item)}, raw=True
    )


def glue_all(values: Mapping[str, Number | str]) -> None:
    """Hand numbers and words to the text of the page, which shows them by their names:
    `{glue:text}`.

    Raises TypeError for a value that is neither.
    """
    from myst_nb import glue

    for name, value in values.items():
        glue(name, value if isinstance(value, str) else float(value), display=False)

"""`measure`: the one way in which a notebook states a number that decides a claim.

The number becomes an output of the cell, under a MIME type of its own. The runner collects these outputs; the page
renders them beside the expectation in `book/claims.yml`. There is no global store, and nothing is written here.
"""

import math
from collections.abc import Sequence
from html import escape
from numbers import Real
from typing import SupportsFloat

MEASUREMENT_MIME = "application/vnd.ntpcompanion.measurement+json"
RECORD_MIME = "application/vnd.ntpcompanion.record+json"

Number = SupportsFloat  # of Python, NumPy or torch


def measure(claim: str, value: Number | Sequence[Number], *, stderr: Number | Sequence[Number] = 0.0, seed: int | None = None) -> None:
    """Display the measured value of a claim, and hand it to whoever executes the notebook.

    Parameters
    ----------
    claim
        id of an item of `book/claims.yml`.
    value
        a number, or a sequence of numbers where the claim is about an order (increasing, decreasing).
    stderr
        standard error of each value, in its units; 0 states that the value is exact.
    seed
        the seed behind a random estimate, shown on the card.

    Raises
    ------
    ValueError
        an empty claim id, an empty sequence, a value that is not finite, a negative standard error.
    """
    data = measurement(claim, value, stderr=stderr, seed=seed)
    text = f"{claim} = {_text(data['value'])}" + (f" ± {_text(data['stderr'])}" if _any(data["stderr"]) else "")
    try:
        from IPython.core.getipython import get_ipython
        from IPython.display import display
    except ImportError:
        print(text)
        return
    if get_ipython() is None:
        print(text)
        return
    display({MEASUREMENT_MIME: data, "text/html": f"<p><code>{escape(text)}</code></p>", "text/plain": text}, raw=True)


def measurement(claim: str, value: Number | Sequence[Number], *, stderr: Number | Sequence[Number] = 0.0, seed: int | None = None) -> dict:
    """The JSON form of one measurement: `{"id", "value", "stderr", "seed"}`, checked as `measure` describes."""
    if not isinstance(claim, str) or not claim.strip():
        raise ValueError(f"`claim` must be the id of an item of book/claims.yml, got {claim!r}.")
    values = _numbers(claim, "value", value)
    errors = _numbers(claim, "stderr", stderr)
    if min(_flat(errors)) < 0:
        raise ValueError(f"`stderr` of {claim!r} must not be negative, got {errors}.")
    if isinstance(errors, list) and (not isinstance(values, list) or len(errors) != len(values)):
        raise ValueError(f"`stderr` of {claim!r} must be one number or as many as `value`, got {len(errors)} errors for {values}.")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise ValueError(f"`seed` of {claim!r} must be an integer or None, got {seed!r}.")
    return {"id": claim, "value": values, "stderr": errors, "seed": seed}


def _numbers(claim: str, name: str, given: object) -> float | list[float]:
    if hasattr(given, "tolist"):  # NumPy scalars and arrays, torch tensors
        given = given.tolist()
    if isinstance(given, (list, tuple)):
        if not given:
            raise ValueError(f"`{name}` of {claim!r} is empty: there is nothing to judge.")
        return [_number(claim, name, item) for item in given]
    return _number(claim, name, given)


def _number(claim: str, name: str, given: object) -> float:
    if not isinstance(given, Real):
        raise ValueError(f"`{name}` of {claim!r} must be a number or a flat sequence of numbers, got {given!r}.")
    if not math.isfinite(given):
        raise ValueError(f"`{name}` of {claim!r} is {float(given)}, and no verdict can be read from it. Find where it arose.")
    return float(given)


def _flat(given: float | list[float]) -> list[float]:
    return given if isinstance(given, list) else [given]


def _any(given: float | list[float]) -> bool:
    return any(_flat(given))


def _text(given: float | list[float]) -> str:
    return f"[{', '.join(f'{v:.6g}' for v in given)}]" if isinstance(given, list) else f"{given:.6g}"

"""Is a result that was computed again the one that is stored?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

# Two processors sum in another order: numbers may differ by so much, relative and absolute.
RELATIVE, ABSOLUTE = 1e-6, 1e-9
DURATION = "seconds"  # a result may say how long its parts took; that is never equal


@dataclass(frozen=True)
class Difference:
    """One place of a result that is not what is stored, such as `curve.3.kl`."""

    place: str
    stored: object
    found: object

    def __str__(self) -> str:
        return f"{self.place or 'the result'}: {self.stored!r} → {self.found!r}"


def differences(stored: object, found: object) -> list[Difference]:
    """The places at which two JSON values differ by more than the rounding of processors; durations
    are not compared.
    """
    return [
        Difference(place, old, new)
        for place, old, new in _leaves(stored, found, "")
        if not _equal_to_rounding(old, new)
    ]


def largest_deviation(stored: object, found: object) -> float:
    """The largest relative difference of two numbers at one place: 0 if all are equal, and at most
    `RELATIVE` if there are no `differences`.
    """
    return max((_deviation(old, new) for _, old, new in _leaves(stored, found, "")), default=0.0)


def _leaves(old: object, new: object, place: str) -> Iterator[tuple[str, object, object]]:
    """Pairs at one place: numbers and texts, or what cannot be compared further."""
    if isinstance(old, dict) and isinstance(new, dict) and set(old) == set(new):
        for name in old:
            if name != DURATION:
                yield from _leaves(old[name], new[name], f"{place}.{name}".lstrip("."))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from _leaves(a, b, f"{place}.{i}".lstrip("."))
    else:
        yield place, old, new


def _equal_to_rounding(old: object, new: object) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return type(old) is type(new) and old == new


def _deviation(old: object, new: object) -> float:
    if not (isinstance(old, float) and isinstance(new, float)) or old == new:
        return 0.0
    # numbers so small that the absolute tolerance decides: relative to the size where it begins
    return abs(old - new) / max(abs(old), abs(new), ABSOLUTE / RELATIVE)

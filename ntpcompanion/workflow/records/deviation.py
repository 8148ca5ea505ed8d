"""Is a result that was computed again the one that is stored?

Integers, texts, truth values and None must be equal, and numbers up to a tolerance, which is that
of rounding where a plan does not name another one for a field.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, Field

# two processors sum in another order: the records that were verified on others than they were made
# on have differed by 1e-10 at most; a hundred times that
RELATIVE = 1e-8
# a number smaller than this is the rounding error of a number of size one: it equals zero
ZERO = sys.float_info.epsilon
DURATION = "seconds"  # a result may say how long its parts took; that is never equal
_Size = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Tolerance(BaseModel, extra="forbid", frozen=True):
    """By how much two numbers may differ: by `relative` times the larger of them, or by `absolute`,
    which is for differences of nearly equal numbers.
    """

    relative: Annotated[_Size, Field(lt=1)] = RELATIVE
    absolute: _Size = 0.0

    def __str__(self) -> str:
        absolute = f" or absolute {self.absolute:g}" if self.absolute else ""
        return f"relative {self.relative:g}{absolute}"

    def deviation(self, old: float, new: float) -> float:
        """The relative difference of two numbers; of small ones, for which `absolute` decides,
        relative to the size where it begins to.
        """
        size = max(abs(old), abs(new))
        if old == new or size <= ZERO:
            return 0.0
        if self.absolute and not self.relative:
            return 0.0 if abs(old - new) <= self.absolute else abs(old - new) / size
        return abs(old - new) / max(size, self.absolute / (self.relative or 1.0))

    def covers(self, old: float, new: float) -> bool:
        return self.deviation(old, new) <= self.relative


Tolerances = Mapping[str, Tolerance]  # by field, such as `curve.kl`: of all entries of a list
USUAL = Tolerance()
NONE: Tolerances = MappingProxyType({})


@dataclass(frozen=True)
class Difference:
    """One place of a result that is not what is stored, such as `curve.3.kl`, and the tolerance of
    its field, where it is a number.
    """

    place: str
    stored: object
    recomputed: object
    tolerance: Tolerance | None = None

    def __str__(self) -> str:
        return f"{self.place or 'the result'}: {self.stored!r} → {self.recomputed!r}"


def differences(
    stored: object, recomputed: object, tolerances: Tolerances = NONE
) -> list[Difference]:
    """The places at which two JSON values differ by more than the tolerance of the field; durations
    are not compared.
    """
    unequal = []
    for place, old, new in _leaves(stored, recomputed, ""):
        tolerance = _tolerance(place, tolerances) if _floats(old, new) else None
        if not (tolerance.covers(old, new) if tolerance else type(old) is type(new) and old == new):
            unequal.append(Difference(place, old, new, tolerance))
    return unequal


def largest_deviation(stored: object, recomputed: object, tolerances: Tolerances = NONE) -> float:
    """The largest relative difference of two numbers at one place, 0 if all are equal."""
    deviations = (
        _tolerance(place, tolerances).deviation(old, new)
        for place, old, new in _leaves(stored, recomputed, "")
        if _floats(old, new)
    )
    return max(deviations, default=0.0)


def fields_of(result: object) -> set[str]:
    """The fields of a result with a number, as tolerances name them."""
    return {_field(place) for place, old, _ in _leaves(result, result, "") if _floats(old, old)}


def _field(place: str) -> str:
    return ".".join(part for part in place.split(".") if not part.isdigit())


def _tolerance(place: str, tolerances: Tolerances) -> Tolerance:
    return tolerances.get(_field(place), USUAL) if tolerances else USUAL


def _leaves(old: Any, new: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """Pairs at one place: numbers and texts, or what cannot be compared further."""
    pairs: list[tuple[object, Any, Any]] = []
    if isinstance(old, dict) and isinstance(new, dict) and set(old) == set(new):
        pairs = [(name, old[name], new[name]) for name in old if name != DURATION]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = list(zip(range(len(old)), old, new, strict=True))
    else:
        yield place, old, new
    for name, one, other in pairs:
        yield from _leaves(one, other, f"{place}.{name}".lstrip("."))


def _floats(*values: object) -> bool:
    return all(isinstance(value, float) for value in values)

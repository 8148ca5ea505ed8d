"""What all predicates of claims share: inequalities, and how an interval decides them."""

from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _finite(value: float) -> float:
    if not isfinite(value):
        raise ValueError(
            f"must be a finite number, got {value}: a predicate that cannot fail decides nothing"
        )
    return value


Finite = Annotated[float, AfterValidator(_finite)]
# the bound first: after a function, it would not be in a schema
NotNegative = Annotated[float, Field(ge=0), AfterValidator(_finite)]


@dataclass(frozen=True)
class Slack:
    """How far a number is on the side of an inequality where that holds, and the half width of its
    interval.

    The inequality reads `value >= 0`, or `value > 0` where it is strict. A claim is supported if it
    holds on the whole interval, and refuted if it holds nowhere on it.
    """

    value: float
    half_width: float
    strict: bool = False

    def holds(self, end: Literal["low", "high"]) -> bool:
        """Whether the inequality holds at the low or the high end of the interval."""
        bound = self.value + (self.half_width if end == "high" else -self.half_width)
        return bound > 0 if self.strict else bound >= 0

    @property
    def supports(self) -> bool:
        """Whether the inequality holds on the whole interval."""
        return self.holds("low")

    @property
    def refutes(self) -> bool:
        """Whether the inequality holds nowhere on the interval."""
        return not self.holds("high")


class Predicate(BaseModel):
    """What is expected of one number or of the order of several, as inequalities."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @property
    def bounds(self) -> tuple[float, ...]:
        """The numbers that the predicate compares with."""
        return ()

    def describe(self) -> str:
        """The predicate in a few characters, for a card."""
        raise NotImplementedError

    def slack(self, values: tuple[float, ...], half_widths: tuple[float, ...]) -> list[Slack]:
        """The predicate as inequalities. Raises ValueError if it is not about that many values."""
        if len(values) != 1:
            raise ValueError(
                f"{self.describe()}, which is about one number, but {len(values)} numbers were "
                "measured"
            )
        return [Slack(s, half_widths[0], self.strict) for s in self._slack_of_one(values[0])]

    @property
    def strict(self) -> bool:
        """Whether equality is not enough."""
        return False

    def _slack_of_one(self, value: float) -> list[float]:
        raise NotImplementedError

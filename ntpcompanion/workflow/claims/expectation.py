"""What a claim expects of its number: one predicate, read from `book/claims.yml`, as inequalities
that an interval decides.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import hypot, isfinite
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

Order = Literal["weakly", "strictly"]


def _finite(value: float) -> float:
    if not isfinite(value):
        raise ValueError(
            f"must be a finite number, got {value}: a predicate that cannot fail decides nothing"
        )
    return value


Finite = Annotated[float, AfterValidator(_finite)]
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
    """What is expected of one number or of the order of several."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    def describe(self) -> str:
        """The predicate in a few characters, for a card: `≥ 2`, or `= 2 ± 0.1`."""
        match self:
            case (
                Equals(equals=target, within=within)
                | OrderOfConvergence(order=target, within=within)
            ):
                return f"= {target:g}" + (f" ± {within:g}" if within else "")
            case AtLeast(at_least=low):
                return f"≥ {low:g}"
            case AtMost(at_most=high):
                return f"≤ {high:g}"
            case Interval(interval=(low, high)):
                return f"in [{low:g}, {high:g}]"
            case Sign(sign=sign):
                return "> 0" if sign == "positive" else "< 0"
            case Effect(effect=effect):
                return f"an effect of at {'least' if effect > 0 else 'most'} {effect:+g}"
            case Increasing(increasing=order):
                return "increasing" if order == "strictly" else "non-decreasing"
            case Decreasing(decreasing=order):
                return "decreasing" if order == "strictly" else "non-increasing"
        raise NotImplementedError

    @property
    def bounds(self) -> tuple[float, ...]:
        """The numbers that the predicate compares with, and the ends of what it accepts."""
        match self:
            case (
                Equals(equals=target, within=within)
                | OrderOfConvergence(order=target, within=within)
            ):
                return (target, target - within, target + within)
            case AtLeast(at_least=bound) | AtMost(at_most=bound) | Effect(effect=bound):
                return (bound,)
            case Interval(interval=ends):
                return ends
            case Sign():
                return (0.0,)
        return ()

    def slack(self, values: tuple[float, ...], half_widths: tuple[float, ...]) -> list[Slack]:
        """The predicate as inequalities. Raises ValueError if it is not about that many values."""
        match self:
            case Increasing(increasing=order) | Decreasing(decreasing=order):
                if len(values) < 2:
                    raise ValueError(
                        f"an order ({self.describe()}) and needs at least two measured numbers, "
                        f"got {values[0]}"
                    )
                direction = 1 if isinstance(self, Increasing) else -1
                steps = zip(pairwise(values), pairwise(half_widths), strict=True)
                strict = order == "strictly"
                return [Slack(direction * (b - a), hypot(s, t), strict) for (a, b), (s, t) in steps]
        if len(values) != 1:
            raise ValueError(
                f"{self.describe()}, which is about one number, but {len(values)} numbers were "
                "measured"
            )
        distances = self._distances(values[0])
        return [Slack(each, half_widths[0], isinstance(self, Sign)) for each in distances]

    def _distances(self, value: float) -> list[float]:
        """How far one number is inside of what is accepted, from each of its ends."""
        match self:
            case (
                Equals(equals=target, within=within)
                | OrderOfConvergence(order=target, within=within)
            ):
                return [within - abs(value - target)]
            case AtLeast(at_least=low):
                return [value - low]
            case AtMost(at_most=high):
                return [high - value]
            case Interval(interval=(low, high)):
                return [value - low, high - value]
            case Sign(sign=sign):
                return [value if sign == "positive" else -value]
            case Effect(effect=effect):
                return [value - effect if effect > 0 else effect - value]
        raise NotImplementedError


class Equals(Predicate):
    """Within `within` of a number."""

    equals: Finite
    within: NotNegative


class OrderOfConvergence(Predicate):
    """An order of convergence, within `within` of a number."""

    order: Finite
    within: NotNegative


class AtLeast(Predicate):
    """No less than a number."""

    at_least: Finite


class AtMost(Predicate):
    """No more than a number."""

    at_most: Finite


class Interval(Predicate):
    """Between two numbers, both included."""

    interval: Annotated[tuple[Finite, Finite], Field(strict=False)]  # YAML has lists only

    @model_validator(mode="after")
    def _has_length(self) -> "Interval":
        if self.interval[0] >= self.interval[1]:
            raise ValueError(f"the interval {list(self.interval)} is empty or a point")
        return self


class Sign(Predicate):
    """Positive or negative, and not zero, which has no sign."""

    sign: Literal["positive", "negative"]


class Effect(Predicate):
    """A difference or slope that has the sign of `effect` and is at least as large.

    `effect` is δ, the smallest effect of interest; its sign is the direction that the paper states.
    With δ > 0 a claim is supported if its whole interval lies at or above δ, refuted if all of it
    lies below, and else inconclusive. For δ < 0 all is mirrored. So "refuted" says that the effect,
    if there is one, is smaller than δ: its sign may still be that of the paper.
    """

    effect: Finite

    @model_validator(mode="after")
    def _has_direction(self) -> "Effect":
        if not self.effect:
            raise ValueError(
                "the effect must not be 0: its sign is the direction that the paper states, its "
                "size the smallest effect of interest"
            )
        return self


class Increasing(Predicate):
    """Each number at least as large as the one before, or larger."""

    increasing: Order


class Decreasing(Predicate):
    """Each number at most as large as the one before, or smaller."""

    decreasing: Order


_KINDS = {
    "equals": Equals, "order": OrderOfConvergence, "at_least": AtLeast, "at_most": AtMost,
    "interval": Interval, "sign": Sign, "effect": Effect, "increasing": Increasing,
    "decreasing": Decreasing,
}  # fmt: skip


def _kind(data: object) -> str | None:
    if isinstance(data, Predicate):
        return next(name for name, kind in _KINDS.items() if type(data) is kind)
    named = [name for name in _KINDS if isinstance(data, dict) and name in data]
    return named[0] if len(named) == 1 else None


Expectation = Annotated[
    Annotated[Equals, Tag("equals")]
    | Annotated[OrderOfConvergence, Tag("order")]
    | Annotated[AtLeast, Tag("at_least")]
    | Annotated[AtMost, Tag("at_most")]
    | Annotated[Interval, Tag("interval")]
    | Annotated[Sign, Tag("sign")]
    | Annotated[Effect, Tag("effect")]
    | Annotated[Increasing, Tag("increasing")]
    | Annotated[Decreasing, Tag("decreasing")],
    Discriminator(
        _kind,
        custom_error_type="one_predicate",
        custom_error_message=f"must hold exactly one predicate of {', '.join(_KINDS)}",
    ),
]

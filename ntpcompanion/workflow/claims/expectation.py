"""What a claim expects of its number: one predicate, read from `book/claims.yml`."""

from itertools import pairwise
from math import hypot
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from ntpcompanion.workflow.claims.predicate import Finite, NotNegative, Predicate, Slack

Order = Literal["weakly", "strictly"]


class _Near(Predicate):
    within: NotNegative

    @property
    def target(self) -> float:
        raise NotImplementedError

    @property
    def bounds(self) -> tuple[float, ...]:
        """The number and both ends of what is accepted."""
        return (self.target, self.target - self.within, self.target + self.within)

    def describe(self) -> str:
        """`= 2 ± 0.1`."""
        return f"= {self.target:g}" + (f" ± {self.within:g}" if self.within else "")

    def _slack_of_one(self, value: float) -> list[float]:
        return [self.within - abs(value - self.target)]


class Equals(_Near):
    """Within `within` of a number."""

    equals: Finite

    @property
    def target(self) -> float:
        """The number."""
        return self.equals


class OrderOfConvergence(_Near):
    """An order of convergence, within `within` of a number."""

    order: Finite

    @property
    def target(self) -> float:
        """The order."""
        return self.order


class AtLeast(Predicate):
    """No less than a number."""

    at_least: Finite

    @property
    def bounds(self) -> tuple[float, ...]:
        """The number."""
        return (self.at_least,)

    def describe(self) -> str:
        """`≥ 2`."""
        return f"≥ {self.at_least:g}"

    def _slack_of_one(self, value: float) -> list[float]:
        return [value - self.at_least]


class AtMost(Predicate):
    """No more than a number."""

    at_most: Finite

    @property
    def bounds(self) -> tuple[float, ...]:
        """The number."""
        return (self.at_most,)

    def describe(self) -> str:
        """`≤ 2`."""
        return f"≤ {self.at_most:g}"

    def _slack_of_one(self, value: float) -> list[float]:
        return [self.at_most - value]


class Interval(Predicate):
    """Between two numbers, both included."""

    interval: Annotated[tuple[Finite, Finite], Field(strict=False)]  # YAML has lists only

    @model_validator(mode="after")
    def _has_length(self) -> "Interval":
        if self.interval[0] >= self.interval[1]:
            raise ValueError(f"the interval {list(self.interval)} is empty or a point")
        return self

    @property
    def bounds(self) -> tuple[float, ...]:
        """Both ends."""
        return self.interval

    def describe(self) -> str:
        """`in [0, 1]`."""
        return f"in [{self.interval[0]:g}, {self.interval[1]:g}]"

    def _slack_of_one(self, value: float) -> list[float]:
        return [value - self.interval[0], self.interval[1] - value]


class Sign(Predicate):
    """Positive or negative, and not zero."""

    sign: Literal["positive", "negative"]

    @property
    def bounds(self) -> tuple[float, ...]:
        """Zero."""
        return (0.0,)

    @property
    def strict(self) -> bool:
        """Zero has no sign."""
        return True

    def describe(self) -> str:
        """`> 0` or `< 0`."""
        return "> 0" if self.sign == "positive" else "< 0"

    def _slack_of_one(self, value: float) -> list[float]:
        return [value if self.sign == "positive" else -value]


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

    @property
    def bounds(self) -> tuple[float, ...]:
        """The smallest effect of interest."""
        return (self.effect,)

    def describe(self) -> str:
        """`an effect of at least +1.4` or `an effect of at most -1.4`."""
        return f"an effect of at {'least' if self.effect > 0 else 'most'} {self.effect:+g}"

    def _slack_of_one(self, value: float) -> list[float]:
        return [value - self.effect if self.effect > 0 else self.effect - value]


class _Monotone(Predicate):
    def _steps(
        self, values: tuple[float, ...], half_widths: tuple[float, ...], direction: int, order: str
    ) -> list[Slack]:
        if len(values) < 2:
            raise ValueError(
                f"an order ({self.describe()}) and needs at least two measured numbers, got "
                f"{values[0]}"
            )
        steps = zip(pairwise(values), pairwise(half_widths), strict=True)
        strict = order == "strictly"
        return [Slack(direction * (b - a), hypot(s, t), strict) for (a, b), (s, t) in steps]


class Increasing(_Monotone):
    """Each number at least as large as the one before, or larger."""

    increasing: Order

    def describe(self) -> str:
        """`increasing` or `non-decreasing`."""
        return "increasing" if self.increasing == "strictly" else "non-decreasing"

    def slack(self, values: tuple[float, ...], half_widths: tuple[float, ...]) -> list[Slack]:
        """An inequality for each step."""
        return self._steps(values, half_widths, 1, self.increasing)


class Decreasing(_Monotone):
    """Each number at most as large as the one before, or smaller."""

    decreasing: Order

    def describe(self) -> str:
        """`decreasing` or `non-increasing`."""
        return "decreasing" if self.decreasing == "strictly" else "non-increasing"

    def slack(self, values: tuple[float, ...], half_widths: tuple[float, ...]) -> list[Slack]:
        """An inequality for each step."""
        return self._steps(values, half_widths, -1, self.decreasing)


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

"""What a claim expects of its number: one predicate, read from the claims, as inequalities
that an interval decides.
"""

from itertools import pairwise
from math import hypot, inf, isfinite
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

Order = Literal["weakly", "strictly"]
KINDS = (
    "equals", "order", "at_least", "at_most", "interval", "sign", "effect", "increasing",
    "decreasing",
)  # fmt: skip
TOLERANT = ("equals", "order")  # with `within`
TRENDS = ("increasing", "decreasing")  # of several numbers


def _finite(value: float) -> float:
    if not isfinite(value):
        raise ValueError(
            f"must be a finite number, got {value}: a predicate that cannot fail decides nothing"
        )
    return value


Finite = Annotated[float, AfterValidator(_finite)]
NotNegative = Annotated[float, Field(ge=0), AfterValidator(_finite)]


class Slack(NamedTuple):
    """How far a number is on the side of an inequality where that holds, and the half width of its
    interval.

    The inequality reads `value >= 0`, or `value > 0` where it is strict.
    """

    value: float
    half_width: float
    strict: bool = False

    @property
    def supports(self) -> bool:
        """Whether the inequality holds on the whole interval."""
        return self._holds(self.value - self.half_width)

    @property
    def refutes(self) -> bool:
        """Whether the inequality holds nowhere on the interval."""
        return not self._holds(self.value + self.half_width)

    def _holds(self, bound: float) -> bool:
        return bound > 0 if self.strict else bound >= 0


class Expectation(BaseModel):
    """What is expected of one number, or of the order of several: exactly one of these fields, and
    `within` beside `equals` or an `order` of convergence.

    With `effect`, the smallest effect of interest δ > 0, a claim is supported if its whole interval
    lies at or above δ, refuted if all of it lies below, and else inconclusive; for δ < 0 all is
    mirrored. So "refuted" says that the effect, if there is one, is smaller than δ: its sign may
    still be that of the paper.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    equals: Finite | None = None
    order: Finite | None = None
    within: NotNegative | None = None
    at_least: Finite | None = None
    at_most: Finite | None = None
    # YAML has lists only
    interval: Annotated[tuple[Finite, Finite] | None, Field(strict=False)] = None
    sign: Literal["positive", "negative"] | None = None
    effect: Finite | None = None
    increasing: Order | None = None
    decreasing: Order | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_predicate(cls, data: Any) -> Any:
        if not isinstance(data, dict) or len(data.keys() & set(KINDS)) != 1:
            raise ValueError(f"must hold exactly one predicate of {', '.join(KINDS)}")
        if bool(data.keys() & set(TOLERANT)) != ("within" in data):
            raise ValueError("`within` stands beside `equals` and `order`, and nowhere else")
        return data

    @model_validator(mode="after")
    def _can_fail(self) -> "Expectation":
        if self.interval and self.interval[0] >= self.interval[1]:
            raise ValueError(f"the interval {list(self.interval)} is empty or a point")
        if self.effect == 0:
            raise ValueError(
                "the effect must not be 0: its sign is the direction that the paper states, its "
                "size the smallest effect of interest"
            )
        return self

    @property
    def kind(self) -> str:
        return next(name for name in KINDS if getattr(self, name) is not None)

    def describe(self) -> str:
        """The predicate in a few characters, for a card: `≥ 2`, or `= 2 ± 0.1`."""
        value = getattr(self, self.kind)
        match self.kind:
            case "equals" | "order":
                return f"= {value:g}" + (f" ± {self.within:g}" if self.within else "")
            case "at_least" | "at_most":
                return f"{'≥' if self.kind == 'at_least' else '≤'} {value:g}"
            case "interval":
                return f"in [{value[0]:g}, {value[1]:g}]"
            case "sign":
                return "> 0" if value == "positive" else "< 0"
            case "effect":
                return f"an effect of at {'least' if value > 0 else 'most'} {value:+g}"
        other = {"increasing": "non-decreasing", "decreasing": "non-increasing"}
        return self.kind if value == "strictly" else other[self.kind]

    @property
    def bounds(self) -> tuple[float, ...]:
        """The numbers that the predicate compares with, and the ends of what it accepts."""
        if self.kind in TRENDS:
            return ()
        ends = tuple(end for end in self._ends() if isfinite(end))
        return (getattr(self, self.kind), *ends) if self.kind in TOLERANT else ends

    def _ends(self) -> tuple[float, float]:
        """Between which one number is to lie."""
        value, within = getattr(self, self.kind), self.within or 0.0
        match self.kind:
            case "equals" | "order":
                return value - within, value + within
            case "interval":
                return self.interval or (-inf, inf)
            case "sign":
                return (0.0, inf) if value == "positive" else (-inf, 0.0)
            case "effect":
                return (value, inf) if value > 0 else (-inf, value)
        return (value, inf) if self.kind == "at_least" else (-inf, value)

    def slack(self, values: tuple[float, ...], half_widths: tuple[float, ...]) -> list[Slack]:
        """The predicate as inequalities, which must all hold. The values of an order count as
        independent: the error of a difference is that of two means.

        Raises ValueError if the predicate is not about that many values.
        """
        if self.kind in TRENDS:
            if len(values) < 2:
                raise ValueError(
                    f"an order ({self.describe()}) and needs at least two measured numbers, got "
                    f"{values[0]}"
                )
            direction, strict = (1, self.increasing) if self.increasing else (-1, self.decreasing)
            steps = zip(pairwise(values), pairwise(half_widths), strict=True)
            return [
                Slack(direction * (b - a), hypot(s, t), strict == "strictly")
                for (a, b), (s, t) in steps
            ]
        if len(values) != 1:
            raise ValueError(
                f"{self.describe()}, which is about one number, but {len(values)} numbers were "
                "measured"
            )
        (value,), (low, high) = values, self._ends()
        distances = [each for each in (value - low, high - value) if isfinite(each)]
        if self.kind in TOLERANT:  # to rounding, from the number itself
            distances = [(self.within or 0.0) - abs(value - getattr(self, self.kind))]
        return [Slack(each, half_widths[0], self.sign is not None) for each in distances]

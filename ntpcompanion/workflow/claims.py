"""Claims of the papers as data, and verdicts as a function of a measurement and an expectation."""

from dataclasses import dataclass
from itertools import pairwise
from math import hypot, isfinite
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from ntpcompanion.workflow.errors import WorkflowError
from ntpcompanion.workflow.project import Project
from ntpcompanion.workflow.yaml_files import read_yaml

Verdict = Literal["supported", "refuted", "inconclusive", "not measured"]
Profile = Literal["smoke", "book", "paper"]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=3)]

# A random value is judged by the interval of two standard errors around it; an exact value is its own interval.
STANDARD_ERRORS = 2.0


def _finite(value: float) -> float:
    if not isfinite(value):
        raise ValueError(f"must be a finite number, got {value}: a predicate that cannot fail decides nothing")
    return value


Finite = Annotated[float, AfterValidator(_finite)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Expectation(_Strict):
    """Exactly one predicate on the measured value; `within` belongs to `equals` and `order`."""

    equals: Finite | None = None
    order: Finite | None = None
    within: Annotated[Finite, Field(ge=0)] | None = None
    at_least: Finite | None = None
    at_most: Finite | None = None
    interval: tuple[Finite, Finite] | None = None
    sign: Literal["positive", "negative"] | None = None
    increasing: Literal["weakly", "strictly"] | None = None
    decreasing: Literal["weakly", "strictly"] | None = None

    @model_validator(mode="after")
    def _one_predicate(self) -> "Expectation":
        kinds = [name for name in type(self).model_fields if name != "within" and getattr(self, name) is not None]
        if len(kinds) != 1:
            raise ValueError(f"must hold exactly one predicate, got {kinds or 'none'}")
        if (kinds[0] in ("equals", "order")) != (self.within is not None):
            raise ValueError("`within` goes with `equals` and `order`, and with these only")
        if self.interval is not None and self.interval[0] >= self.interval[1]:
            raise ValueError(f"the interval {list(self.interval)} is empty or a point")
        return self

    @property
    def kind(self) -> str:
        """The name of the predicate."""
        return next(name for name in type(self).model_fields if name != "within" and getattr(self, name) is not None)

    def describe(self) -> str:
        """The predicate in a few characters, for a card."""
        bound = getattr(self, self.kind)
        match self.kind:
            case "equals" | "order":
                return f"= {bound:g}" + (f" ± {self.within:g}" if self.within else "")
            case "at_least" | "at_most":
                return f"{'≥' if self.kind == 'at_least' else '≤'} {bound:g}"
            case "interval":
                return f"in [{bound[0]:g}, {bound[1]:g}]"
            case "sign":
                return "> 0" if bound == "positive" else "< 0"
        return self.kind if bound == "strictly" else f"non-{'decreasing' if self.kind == 'increasing' else 'increasing'}"


class Band(_Strict):
    """How far a value may move from its stored baseline before the build turns red."""

    relative: Annotated[Finite, Field(ge=0, lt=1)] = 0.0
    absolute: Annotated[Finite, Field(ge=0)] = 0.0

    def width(self, stored: float) -> float:
        """The largest drift allowed from a stored value."""
        return max(self.absolute, self.relative * abs(stored))


class Claim(_Strict):
    """One sentence of a paper that a number decides."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(\.[a-z0-9-]+)+$")]
    paper: Text
    locator: Text
    statement: Text
    measures: Text
    source: Text
    notebook: Text
    expect: Annotated[dict[Profile, Expectation], Field(min_length=1)]
    paper_value: float | str | None = None
    expected_verdict: Literal["supported", "refuted", "inconclusive"] = "supported"
    band: Band = Band()


@dataclass(frozen=True)
class Judgement:
    """A verdict with the expectation it was computed from (None where the profile has none)."""

    verdict: Verdict
    expectation: Expectation | None


def load_claims(project: Project) -> dict[str, Claim]:
    """All claims by id, in file order.

    Raises WorkflowError naming every fault: a missing source, a predicate that cannot fail, an id used twice, ...
    """
    items = read_yaml(project.claims) or []
    if not isinstance(items, list):
        raise WorkflowError(f"{project.claims} must be a list of items `- id: ...`, got {type(items).__name__}.")
    claims: dict[str, Claim] = {}
    faults: list[str] = []
    for number, item in enumerate(items, 1):
        name = item.get("id", f"item {number}") if isinstance(item, dict) else f"item {number}"
        try:
            claim = Claim.model_validate(item)
        except ValidationError as error:
            faults += [f"{name}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
            continue
        if claim.id in claims:
            faults.append(f"{name}: the id is used twice")
        if not (project.notebooks / f"{claim.notebook}.md").is_file():
            faults.append(f"{name}: notebook: there is no notebooks/{claim.notebook}.md")
        claims[claim.id] = claim
    if faults:
        raise WorkflowError(f"{project.claims}:\n" + "\n".join(f"  {fault}" for fault in faults))
    return claims


def judge(claim: Claim, profile: str, measurement: dict | None) -> Judgement:
    """The verdict on a claim at a profile, from the measured value and its standard error."""
    expectation = claim.expect.get(profile)
    if measurement is None or expectation is None:
        return Judgement("not measured", expectation)
    gaps = _gaps(expectation, measurement["value"], measurement["stderr"], claim.id)
    if all(_holds(low, strict) for low, _, strict in gaps):
        return Judgement("supported", expectation)
    if any(not _holds(high, strict) for _, high, strict in gaps):
        return Judgement("refuted", expectation)
    return Judgement("inconclusive", expectation)


def _holds(slack: float, strict: bool) -> bool:
    return slack > 0 if strict else slack >= 0


def _gaps(expectation: Expectation, value: float | list, stderr: float | list, name: str) -> list[tuple[float, float, bool]]:
    """The predicate as inequalities `slack >= 0` (or > 0 where strict): the least and the largest slack the error allows."""
    kind, bound = expectation.kind, getattr(expectation, expectation.kind)
    if kind in ("increasing", "decreasing"):
        return _steps(value, stderr, 1 if kind == "increasing" else -1, bound == "strictly", name)
    if isinstance(value, list):
        raise WorkflowError(
            f"Claim {name!r} expects {expectation.describe()}, which is about one number, but {len(value)} numbers were measured."
        )
    error = STANDARD_ERRORS * stderr
    match kind:
        case "equals" | "order":
            slack = [expectation.within - abs(value - bound)]
        case "at_least":
            slack = [value - bound]
        case "at_most":
            slack = [bound - value]
        case "interval":
            slack = [value - bound[0], bound[1] - value]
        case _:
            slack = [value if bound == "positive" else -value]
    return [(s - error, s + error, kind == "sign") for s in slack]


def _steps(value: float | list, stderr: float | list, direction: int, strict: bool, name: str) -> list[tuple[float, float, bool]]:
    if not isinstance(value, list) or len(value) < 2:
        raise WorkflowError(f"Claim {name!r} is about an order and needs at least two measured numbers, got {value!r}.")
    errors = stderr if isinstance(stderr, list) else [stderr] * len(value)
    steps = [(direction * (b - a), STANDARD_ERRORS * hypot(s, t)) for (a, b), (s, t) in zip(pairwise(value), pairwise(errors), strict=True)]
    return [(step - error, step + error, strict) for step, error in steps]

"""One measured number of a claim: checked once, at every border that it crosses."""

import math
import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, SupportsIndex

Value = float | tuple[float, ...]

# lower-case words joined by dots: it stands in addresses of pages and in names of files
CLAIM_ID = r"^[a-z0-9]+(\.[a-z0-9-]+)+$"
_RECORD = re.compile(r"[\w-]+")


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The value of a claim, its standard error and what is random about it.

    The fields are the arguments of `measure`. With a standard error, `replicates` is required, at
    least 2: an interval of Student's t needs it. Raises ValueError naming the argument, what came
    and what is wrong with it.
    """

    claim: str
    value: Value
    stderr: Value = 0.0
    replicates: int | None = None
    seed: int | None = None
    records: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.claim, str) or not re.fullmatch(CLAIM_ID, self.claim):
            raise ValueError(
                "`claim` must be the id of an item of book/claims.yml, lower-case words joined by "
                f"dots like 'paper.theorem2.rate', got {self.claim!r:.80}."
            )
        for name, sentence in self._faults():
            raise ValueError(f"`{name}` of {self.claim!r} {sentence}.")

    def _faults(self) -> Iterator[tuple[str, str]]:
        value, stderr = _listed(self.value), _listed(self.stderr)
        if isinstance(stderr, list) and not (isinstance(value, list) and len(stderr) == len(value)):
            words = f"one number or as many as `value`, got {len(stderr)} errors for {value}"
            yield "stderr", f"must be {words}"
        if min(self.errors) < 0:
            yield "stderr", f"must not be negative, got {stderr}"
        for name, number in (("replicates", self.replicates), ("seed", self.seed)):
            if number is not None and type(number) is not int:
                yield name, f"must be an integer or None, got {number!r:.80}"
        if self.seed is not None and self.seed < 0:
            yield "seed", f"must not be negative, got {self.seed}"
        if self.replicates is not None and self.replicates < 2:
            words = "one draw has no standard error"
            yield "replicates", f"must be at least 2, got {self.replicates}: {words}"
        if not self.exact and self.replicates is None:
            words = "say how many independent replicates its standard error"
            yield "replicates", f"is missing: {words} {stderr} was estimated from"

    @classmethod
    def of(
        cls,
        claim: str,
        value: object,
        *,
        stderr: object = 0.0,
        replicates: SupportsIndex | None = None,
        seed: SupportsIndex | None = None,
        records: object = (),
    ) -> "Measurement":
        """A measurement from numbers and arrays of any library. Raises ValueError as the class
        does.
        """
        return cls(
            claim=claim,
            value=_numbers(claim, "value", value),
            stderr=_numbers(claim, "stderr", stderr),
            replicates=_integer(replicates),
            seed=_integer(seed),
            records=_names(claim, records),
        )

    @property
    def values(self) -> tuple[float, ...]:
        return self.value if isinstance(self.value, tuple) else (self.value,)

    @property
    def errors(self) -> tuple[float, ...]:
        """The standard error of each of `values`."""
        return self.stderr if isinstance(self.stderr, tuple) else (self.stderr,) * len(self.values)

    @property
    def exact(self) -> bool:
        """Whether no value has a standard error."""
        return not any(self.errors)

    @property
    def degrees_of_freedom(self) -> int:
        """Of Student's t: one less than replicates. Raises ValueError where there are none."""
        if self.replicates is None:
            raise ValueError(f"{self.claim!r} is exact: no replicates were drawn.")
        return self.replicates - 1

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.claim, "value": _listed(self.value), "stderr": _listed(self.stderr),
            "replicates": self.replicates, "seed": self.seed, "records": list(self.records),
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: object) -> "Measurement":
        """What `to_json` gave. Raises ValueError for data of any other form, saying what is
        wrong.
        """
        if not isinstance(data, dict):
            raise ValueError(f"a measurement must be a JSON object, got {data!r:.80}.")
        names = {"id", "value", "stderr", "replicates", "seed", "records"}
        if stray := sorted(map(str, set(data) ^ names)):
            raise ValueError(
                f"a measurement has the fields {', '.join(sorted(names))}; missing or unknown: "
                f"{', '.join(stray)}."
            )
        return cls.of(data["id"], **{name: data[name] for name in names - {"id"}})

    def __str__(self) -> str:
        bars = "" if self.exact else f" ± {_text(self.stderr)}"
        return f"{self.claim} = {_text(self.value)}{bars}"


def _numbers(claim: str, name: str, value: object) -> Value:
    if hasattr(value, "tolist"):  # NumPy scalars and arrays, torch tensors
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return _number(claim, name, value)
    if not value:
        raise ValueError(f"`{name}` of {claim!r} is empty: there is nothing to judge.")
    return tuple(_number(claim, name, item) for item in value)


def _number(claim: str, name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(
            f"`{name}` of {claim!r} must be a number or a flat sequence of numbers, got "
            f"{value!r:.80}."
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(
            f"`{name}` of {claim!r} is {number}, and no verdict can be read from it. Find where it "
            "arose."
        )
    return number


def _names(claim: str, value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(
        isinstance(name, str) and _RECORD.fullmatch(name) for name in names
    ):
        raise ValueError(f"`records` of {claim!r} must be names of records, got {value!r:.80}.")
    return tuple(names)


def _integer(value: Any) -> Any:
    """An integer of any library as Python's; anything else stays, to be rejected in words."""
    whole = hasattr(value, "__index__") and not isinstance(value, bool)
    return operator.index(value) if whole else value


def _listed(value: Value) -> float | list[float]:
    return list(value) if isinstance(value, tuple) else value


def _text(value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(f'{v:.6g}' for v in value)}]"
    return f"{value:.6g}"

"""What every experiment consists of: a plan, checked when it is made, and a typed result."""

import difflib
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ntpcompanion.checks import says_faults

Values = TypeVar("Values", bound="_Frozen")


def _sentences(error: ValidationError, model: type[BaseModel]) -> str:
    return " ".join(_sentence(fault, [*model.model_fields]) for fault in error.errors())


@says_faults(_sentences)
class _Frozen(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants"
    )

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, texts, lists and dicts; `from_json` reads them back."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls: type[Values], values: Mapping[str, Any]) -> Values:
        """Read values that come from a file or a command line; a text is never taken for a number.
        Raises ValueError with a sentence for each field that is missing, unknown or outside its
        range.
        """
        try:
            return cls.model_validate_json(json.dumps(values), strict=True)
        except ValidationError as error:
            known = list(cls.model_fields)
            raise ValueError(
                " ".join(_sentence(fault, known) for fault in error.errors())
            ) from None


class Plan(_Frozen):
    """Everything that decides the numbers of an experiment. Two equal plans give equal results.

    Subclasses declare their fields with unit, meaning and range
    (`Annotated[int, Field(ge=1, description=...)]`).
    """


class Result(_Frozen):
    """What an experiment found. Subclasses declare their fields with unit and meaning."""


def _sentence(fault: Mapping[str, Any], known: list[str]) -> str:
    name = ".".join(map(str, fault["loc"])) or "plan"
    if fault["type"] == "missing":
        return f"`{name}` is missing: give it a value."
    if fault["type"] == "unexpected_keyword_argument":  # of a part of a plan
        return f"`{name}` is not a field of this plan."
    if fault["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean `{near[0]}`?" if near else f" Known: {', '.join(known)}."
        return f"`{name}` is not a field of this plan.{hint}"
    message = fault["msg"].removeprefix("Value error, ").removeprefix("Input ").rstrip(".")
    if message.startswith("`"):  # a sentence of our own already names the field and its value
        return f"{message}."
    return f"`{name}` {message}, got {fault['input']!r}."

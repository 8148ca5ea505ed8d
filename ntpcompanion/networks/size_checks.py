"""What plans have in common: choices among words, and whole numbers."""

from dataclasses import fields
from typing import Any, Literal, get_args, get_origin

from ntpcompanion.validation import argument_check


def check_choices(plan: Any) -> None:
    """Raise ValueError for a field of a dataclass that is annotated `Literal[...]` and has another
    value.
    """
    for field in fields(plan):
        value = getattr(plan, field.name)
        if get_origin(field.type) is Literal and not (
            isinstance(value, str) and value in get_args(field.type)
        ):
            raise ValueError(
                f"`{field.name}` must be one of {', '.join(get_args(field.type))}, got {value!r}."
            )


def check_whole(plan: object, *names: str) -> None:
    """Raise ValueError unless each of these fields is a whole number of at least 1."""
    for name in names:
        value = getattr(plan, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"`{name}` must be a whole number of at least 1, got {value!r}.")


def check_integer(plan: object, *names: str) -> None:
    """Raise ValueError unless each of these fields is a whole number, of any size."""
    for name in names:
        value = getattr(plan, name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"`{name}` must be a whole number, got {value!r}.")


@argument_check
def check_kind(name: str, plan: Any, kind: str) -> None:
    """Raise ValueError unless a plan is of this kind."""
    if plan.kind != kind:
        raise ValueError(f"`{name}` must be a plan of a {kind}, got {plan}.")

"""Grids: every combination of some values, and how a command line writes them."""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*:\s*({_NUMBER})\s*(?::\s*({_NUMBER})\s*)?")
LIMIT = 100_000  # runs of one sweep: more is a slip of the keyboard


def grid_tasks(fixed: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination of the grid's values, with the fixed ones: one task each, in the order of
    the grid.

    Raises
    ------
    WorkflowError
        more combinations than `LIMIT`.
    """
    if (number := math.prod(map(len, grid.values()))) > LIMIT:
        raise WorkflowError(
            f"The grid has {number:,} points, and a sweep takes at most {LIMIT:,}. Take fewer "
            "values."
        )
    return [
        {**fixed, **dict(zip(grid, values, strict=True))}
        for values in itertools.product(*grid.values())
    ]


def require_every_task(
    path: Path, plan: Mapping[str, Any], results: Sequence[Mapping[str, Any]]
) -> None:
    """Raises WorkflowError unless the results of a record are those of the tasks of its plan, each
    once and in order.
    """
    planned = [canonical_json(task) for task in grid_tasks(plan["fixed"], plan["grid"])]
    stored = [canonical_json(line["parameters"]) for line in results]
    if planned == stored:
        return
    missing = [task for task in planned if task not in stored]
    surplus = len(stored) - (len(planned) - len(missing))
    raise WorkflowError(
        f"{path} does not hold the {len(planned)} tasks of its plan"
        + f": {len(missing)} missing, such as {(missing or [''])[0]}" * bool(missing)
        + f": {surplus} too many" * (surplus > 0 and not missing)
        + f". Make it again with `ntpcompanion record {path.stem}`, or restore it from git."
    )


def parse_assignments(texts: Sequence[str], option: str) -> dict[str, str]:
    """`["NAME=VALUE", ...]` as they are given to an option of the command line, by name.

    Raises
    ------
    WorkflowError
        another form, or a name that comes twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise WorkflowError(f"`{option} {text}` must have the form NAME=VALUE.")
        if name in found:
            raise WorkflowError(f"`{option} {name}=...` is given twice. Give it once.")
        found[name] = value
    return found


def parse_values(
    text: str, read: Callable[[str], object], option: str, *, ranges: bool = True
) -> list[Any]:
    """The values of one axis of a grid: `0.1,0.5` or `20:200:20`, where the stop is exclusive as in
    a slice of Python. Between brackets and quotation marks a comma separates nothing.

    `read` makes a value of each of the texts; without `ranges` no text is a range.

    Raises
    ------
    WorkflowError
        no value at all, a step of zero, one value twice.
    """
    given = _RANGE.fullmatch(text) if ranges else None
    values = _range(given, option) if given else [read(part) for part in _parts(text)]
    if not values:
        raise WorkflowError(
            f"`{option}` gives no value, and an empty grid has no runs. Write values like 0.1,0.5 "
            "or a range like 20:200:20, whose stop is exclusive."
        )
    require_distinct(values, option)
    return values


def require_distinct(values: Sequence[object], option: str) -> None:
    """Raises WorkflowError for a value that comes twice: its runs would be made twice."""
    shown = [repr(value) for value in values]
    if twice := [value for value in dict.fromkeys(shown) if shown.count(value) > 1]:
        raise WorkflowError(f"`{option}` gives {', '.join(twice)} twice. Give each value once.")


def _range(given: re.Match[str], option: str) -> list[int] | list[float]:
    """In decimal fractions: `0:1:0.1` has ten values, and the fourth is 0.3."""
    start, stop, step = (Decimal(text or "1") for text in given.groups())
    if step == 0:
        raise WorkflowError(f"`{option}` has the step 0. Give another one, like 20:200:20.")
    number = max(0, math.ceil((stop - start) / step))
    if number > LIMIT:
        raise WorkflowError(
            f"`{option}` has {number:,} values, and a sweep takes at most {LIMIT:,} runs. Take a "
            "larger step."
        )
    values = [start + k * step for k in range(number)]
    whole = not any(set(text or "") & set(".eE") for text in given.groups())
    return [int(value) for value in values] if whole else [float(value) for value in values]


def _parts(text: str) -> list[str]:
    """Cut at the commas that stand outside of brackets and quotation marks."""
    parts, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "[({":
            depth += 1
        elif char in "])}":
            depth -= 1
        if char == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]

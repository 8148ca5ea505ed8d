"""Grids: every combination of some values, and how a command line writes them."""

import ast
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*:\s*({_NUMBER})\s*(?::\s*({_NUMBER})\s*)?")
QUOTES = ("'", '"')
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
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
    missing = sorted(set(planned) - set(stored))
    fault = "they are in another order"
    if missing:
        fault = f"{len(missing)} missing, such as {missing[0]}"
    elif len(stored) > len(planned):
        fault = f"{len(stored) - len(planned)} too many"
    raise WorkflowError(
        f"{path} does not hold the {len(planned)} tasks of its plan: {fault}. Make it again with "
        f"`ntpcompanion record {path.stem}`, or restore it from git."
    )


def parse_assignments(texts: Sequence[str], option: str) -> dict[str, str]:
    """`["NAME=VALUE", ...]` as they are given to an option of the command line, by name.

    Raises
    ------
    WorkflowError
        another form, or a name that comes twice.
    """
    assignments: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise WorkflowError(f"`{option} {text}` must have the form NAME=VALUE.")
        if name in assignments:
            raise WorkflowError(f"`{option} {name}=...` is given twice. Give it once.")
        assignments[name] = value
    return assignments


def parse_values(
    text: str, read: Callable[[str], object], option: str, *, ranges: bool = True
) -> list[Any]:
    """The values of one axis of a grid: `0.1,0.5` or `20:200:20`, where the stop is exclusive as in
    a slice of Python.

    A comma separates values, but not within a value that begins with a quotation mark or a bracket.
    A value in quotation marks is a text as Python writes it, `'a,b'` or `"don't"`; within another
    value a quotation mark is a letter.

    Parameters
    ----------
    read
        makes a value of a text that was given.
    ranges
        whether values may be ranges and lists; if not, each is a text.

    Raises
    ------
    WorkflowError
        no value at all, a step of zero, one value twice, a quotation mark that does not end where
        its value does.
    """
    match = _RANGE.fullmatch(text) if ranges else None
    values: Sequence[Any]
    if match:
        values = _range(match, option)
    else:
        parts = _parts(text, brackets=ranges)
        texts = [_unquoted(part, option) for part in parts]
        values = list(map(read, parts)) if ranges else texts
    require_values(values, option)
    return list(values)


def repeated(values: Sequence[object], show: Callable[[Any], str] = repr) -> str:
    """The values that come twice, as they are shown; empty if there are none."""
    counts = Counter(map(show, values))
    return ", ".join(value for value, count in counts.items() if count > 1)


def require_values(values: Sequence[object], option: str) -> None:
    """Raises WorkflowError where there is no value, or one twice: its runs would be made twice."""
    if not len(values):
        raise WorkflowError(
            f"`{option}` gives no value, and an empty grid has no runs. Write values like 0.1,0.5 "
            "or a range like 20:200:20, whose stop is exclusive."
        )
    if twice := repeated(values):
        raise WorkflowError(f"`{option}` gives {twice} twice. Give each value once.")


def _range(match: re.Match[str], option: str) -> list[int] | list[float]:
    """In decimal fractions: `0:1:0.1` has ten values, and the fourth is 0.3."""
    start, stop, step = (Decimal(text or "1") for text in match.groups())
    if step == 0:
        raise WorkflowError(f"`{option}` has the step 0. Give another one, like 20:200:20.")
    number = max(0, math.ceil((stop - start) / step))
    if number > LIMIT:
        raise WorkflowError(
            f"`{option}` has {number:,} values, and a sweep takes at most {LIMIT:,} runs. Take a "
            "larger step."
        )
    values = [start + k * step for k in range(number)]
    whole = not any(set(text or "") & set(".eE") for text in match.groups())
    return [int(value) for value in values] if whole else [float(value) for value in values]


def _parts(text: str, *, brackets: bool) -> list[str]:
    """The values between the commas, as they stand; an empty one is left out."""
    parts, part = [], ""
    for piece in text.split(","):
        part = f"{part},{piece}" if part else piece.lstrip()
        if _is_whole(part, brackets):
            parts.append(part.rstrip())
            part = ""
    return [part for part in [*parts, part.rstrip()] if part]


def _is_whole(part: str, brackets: bool) -> bool:
    """Whether a value ends at the next comma: it closes what it begins with."""
    if part.startswith(QUOTES):
        return _QUOTED.match(part) is not None
    if not (brackets and part.startswith(("[", "(", "{"))):
        return True
    bare = _QUOTED.sub("", part)
    return sum(map(bare.count, "[({")) <= sum(map(bare.count, "])}"))


def _unquoted(part: str, option: str) -> str:
    """The text of a value in quotation marks; another one as it stands."""
    if not part.startswith(QUOTES):
        return part
    try:
        if _QUOTED.fullmatch(part) and isinstance(text := ast.literal_eval(part), str):
            return text
    except (ValueError, SyntaxError):  # a line break, an escape like \x without digits
        pass
    raise WorkflowError(
        f"`{option}` has the value {part}, which begins with a quotation mark and is not a text as "
        "Python writes it. Write a text with a comma or a quotation mark like 'a,b' or \"don't\"."
    )

"""A sweep as a command line gives it, and how many runs it plans."""

import ast
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.profiles import parse_assignments
from ntpcompanion.workflow.sweeps.campaign import Campaign, Options
from ntpcompanion.workflow.sweeps.executors import fitting_jobs
from ntpcompanion.workflow.sweeps.grid import LIMIT, require_values
from ntpcompanion.workflow.sweeps.sweep import plan_sweep
from ntpcompanion.workflow.sweeps.targets import find_target

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*:\s*({_NUMBER})\s*(?::\s*({_NUMBER})\s*)?")
QUOTES, BRACKETS = ("'", '"'), ("[", "(", "{")


def read_sweep(
    project: Project,
    name: str,
    grid: Sequence[str],
    *,
    seeds: str | None = None,
    fixed: Sequence[str] = (),
    profile: str | None = None,
    notebooks: bool = False,
    retry: bool = False,
) -> Campaign:
    """The sweep that the texts of a command line ask for: `grid` and `fixed` are `NAME=...`, and
    `seeds` is `START:STOP`. Raises WorkflowError for a text that cannot be read, and as
    `find_target` and `plan_sweep`.
    """
    target = find_target(project, name, profile)
    axes = parse_assignments(grid, "--grid")
    if seeds is not None and "seed" in axes:
        raise WorkflowError("`--seeds` and `--grid seed=...` are two grids of one parameter.")
    values = {
        name: parse_values(
            text, partial(target.read, name), f"--grid {name}", ranges=not target.takes_text(name)
        )
        for name, text in axes.items()
    }
    if seeds is not None:
        values["seed"] = parse_values(seeds, partial(target.read, "seed"), "--seeds")
    shared = parse_assignments(fixed, "-p")
    fixed_values = {name: target.read(name, text) for name, text in shared.items()}
    return plan_sweep(target, values, fixed_values, notebooks=notebooks, retry=retry)


def parse_values(
    text: str, read: Callable[[str], object], option: str, *, ranges: bool = True
) -> list[Any]:
    """The values of one axis of a grid: `0.1,0.5` or `20:200:20`, where the stop is exclusive as in
    a slice of Python. Where a value begins with a quotation mark, or with a bracket, all are
    written as Python writes them: `'a,b','c'` or `[1,2],[3]`.

    `read` makes a value of a text; without `ranges` each value is a text, no range and no list.
    Raises WorkflowError for no value at all, a step of zero, one value twice, and what Python would
    write otherwise.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    values: Sequence[Any]
    if match := _RANGE.fullmatch(text) if ranges else None:
        values = _range(match, option)
    elif any(part.startswith(QUOTES + BRACKETS * ranges) for part in parts):
        literals = _literals(text, option)
        values = [read(repr(value)) for value in literals] if ranges else literals
    else:
        values = list(map(read, parts)) if ranges else parts
    require_values(values, option)
    return list(values)


def _literals(text: str, option: str) -> list[Any]:
    try:
        return list(ast.literal_eval(f"[{text}]"))
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise WorkflowError(
            f"`{option}` has the values {text}, which are not as Python writes them. Where one has "
            "a comma or begins with a quotation mark or bracket, write all like 'a,b','c'."
        ) from error


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


def planned_in_words(planned: Campaign, options: Options) -> str:
    """How many runs there are, how many are to be made, and where."""
    total, finished = (
        len(planned.points),
        len(planned.finished(Options(scheduler=options.scheduler))),
    )
    left = total - finished
    text = f"{planned.target.name}: {total} runs"
    text += f", {finished} of them finished earlier" if finished else ""
    number = min(options.jobs or fitting_jobs(), left)
    processes = f"by {number} process{'es' * (number > 1)}"
    where = f"on {options.scheduler}" if options.scheduler else processes
    more = f"; {left} to make {where}. How long is known after the first" if left else ""
    return f"{text}{more}."

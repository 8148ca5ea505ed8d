"""Every combination of some values. Light: notebooks that show a record depend on this file."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json

LIMIT = 100_000  # runs of one sweep: more is a slip of the keyboard


def grid_tasks(fixed: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination of the grid's values, with the fixed ones: one task each, in the order of
    the grid.
    """
    if (number := math.prod(map(len, grid.values()))) > LIMIT:
        raise WorkflowError(
            f"The grid has {number:,} points, and a sweep takes at most {LIMIT:,}. Take fewer "
            "values."
        )
    combinations = itertools.product(*grid.values())
    return [{**fixed, **dict(zip(grid, values, strict=True))} for values in combinations]


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
    fault = "they are in another order"
    if missing := sorted(set(planned) - set(stored)):
        fault = f"{len(missing)} missing, such as {missing[0]}"
    elif len(stored) > len(planned):
        fault = f"{len(stored) - len(planned)} too many"
    raise WorkflowError(
        f"{path} does not hold the {len(planned)} tasks of its plan: {fault}. Make it again with "
        f"`ntpcompanion record {path.stem}`, or restore it from git."
    )


def repeated(values: Sequence[object], show: Callable[[Any], str] = repr) -> str:
    """The values that come twice, as they are shown; empty if there are none."""
    return ", ".join(value for value, count in Counter(map(show, values)).items() if count > 1)


def require_values(values: Sequence[object], option: str) -> None:
    """Raises WorkflowError where there is no value, or one twice: its runs would be made twice."""
    if not len(values):
        raise WorkflowError(
            f"`{option}` gives no value, and an empty grid has no runs. Write values like 0.1,0.5 "
            "or a range like 20:200:20, whose stop is exclusive."
        )
    if twice := repeated(values):
        raise WorkflowError(f"`{option}` gives {twice} twice. Give each value once.")

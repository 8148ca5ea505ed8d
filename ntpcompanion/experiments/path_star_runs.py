"""Recorded runs of `path_star` as one table."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ntpcompanion.experiments.path_star import FIRST_NODE, Plan, Result

COLUMNS = (
    "arms", "length", "query", "objective", "others", "seed", "step", "solved", "exact",
    "first_node", "first_loss", "later", "follows", "leaf", "goal", "memorized", "order",
)  # fmt: skip


def runs_table(tasks: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row for each recorded run, with what it reached at its last evaluation.

    Parameters
    ----------
    tasks
        of a record: `{"parameters", "result"}` for each run.

    Returns
    -------
    pandas.DataFrame
        the plan (`arms`, `length` of the longest path, `query`, `objective`, `others`, `seed`); the
        last `step` and whether the run `solved` the task; for the longest path `exact`, A_1 as
        `first_node` and CE_1 as `first_loss`, the least A_i of i = 2 … l − 1 as `later`; in a
        wrong arm the least agreement as `follows`, `leaf` and `goal` at the last position;
        `memorized`, exact answers on a fixed training set; `order`, the step at which A_1 first
        reaches 0.9 minus that of A_{l−2}. What is not defined is missing.

    Raises
    ------
    ValueError
        what is no result of `path_star`.

    Examples
    --------
    >>> from ntpcompanion.experiments import path_star, runs_table
    >>> size = {"width": 8, "layers": 1, "heads": 1}
    >>> values = {"size": size, "steps": 4, "batch_size": 4, "held_out": 20, "seed": 0}
    >>> result = path_star.run(path_star.Plan.from_json(values))
    >>> table = runs_table([{"parameters": values, "result": result.to_json()}])
    >>> table[["query", "objective", "step", "solved"]].values.tolist()
    [['last', 'next_token', 4, False]]
    """
    read = [
        (Plan.from_json(task["parameters"]), Result.from_json(task["result"])) for task in tasks
    ]
    return pd.DataFrame([_row(plan, result) for plan, result in read], columns=list(COLUMNS))


def _row(plan: Plan, result: Result) -> dict[str, object]:
    last = result.evaluations[-1]
    longest = max(range(len(plan.lengths)), key=lambda k: plan.lengths[k])
    scores, wrong = last.scores[longest], last.wrong_arm[longest]
    found = {name: getattr(plan, name) for name in ("arms", "query", "objective", "others", "seed")}
    found |= {
        "length": plan.lengths[longest],
        "step": last.step,
        "solved": result.solved_at is not None,
        "exact": scores.exact,
        "first_node": scores.accuracy[FIRST_NODE],
        "first_loss": scores.cross_entropy[FIRST_NODE],
        "later": min(scores.accuracy[FIRST_NODE + 1 :]),
        "order": _order(result, longest),
    }
    if wrong is not None:
        found |= {"follows": min(wrong.agreement), "leaf": wrong.leaf, "goal": wrong.goal}
    if result.trained_on is not None:
        found["memorized"] = result.trained_on[longest].exact
    return found


def _order(result: Result, task: int, level: float = 0.9) -> int | None:
    steps = []
    for position in (FIRST_NODE, -2):
        reached = (
            at.step for at in result.evaluations if at.scores[task].accuracy[position] >= level
        )
        steps.append(next(reached, None))
    first, late = steps
    return None if first is None or late is None else first - late

"""Recorded runs of `path_star` as tables: what they reached, and how they got there."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from ntpcompanion.experiments.planning.path_star import FIRST_NODE, Plan, Result
from ntpcompanion.validation import as_integer

COLUMNS = (
    "arms", "length", "query", "objective", "others", "seed", "step", "solved", "exact",
    "first_node", "first_loss", "later", "follows", "leaf", "goal", "memorized", "order", "stall",
)  # fmt: skip
COURSE = ("objective", "query", "seed", "step", "node", "accuracy")


def runs_table(tasks: Sequence[Mapping[str, Any]], steps: int | None = None) -> pd.DataFrame:
    """One row for each recorded run, with what it had reached after some steps.

    Parameters
    ----------
    tasks
        of a record: `{"parameters", "result"}` for each run.
    steps
        the runs are read as if they had ended then; None: to their ends.

    Returns
    -------
    pandas.DataFrame
        the plan (`arms`, `length` of the longest path, `query`, `objective`, `others`, `seed`); the
        last `step` and whether the run `solved` the task; for the longest path `exact`, A_1 as
        `first_node` and CE_1 as `first_loss`, the least A_i of i = 2 … l − 1 as `later`; in a
        wrong arm the least agreement as `follows`, `leaf` and `goal` at the last position;
        `memorized`, exact answers on a fixed training set at the end of the run; `order`, the step
        at which A_1 first reaches 0.9, or the last one, minus that of A_{l−2}; `stall`, the number
        of steps from the first evaluation with all A_i, i = 2 … l − 1, at least 0.98 to the first
        one after it with A_1 above 1/d + 0.1, or to the end of the run. What is not defined is
        missing.

    Raises
    ------
    ValueError
        what is not a result of `path_star`, a negative number of steps.

    Examples
    --------
    >>> from ntpcompanion.experiments import runs_table
    >>> from ntpcompanion.experiments.planning import path_star
    >>> size = {"width": 8, "layers": 1, "heads": 1}
    >>> values = {"size": size, "steps": 4, "batch_size": 4, "held_out": 20, "seed": 0}
    >>> result = path_star.run(path_star.Plan.from_json(values))
    >>> table = runs_table([{"parameters": values, "result": result.to_json()}])
    >>> table[["query", "objective", "step", "solved"]].values.tolist()
    [['last', 'next_token', 4, False]]
    """
    if steps is not None:
        steps = as_integer("steps", steps, 0)
    rows = [_row(plan, _until(result, steps)) for plan, result in _read(tasks)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def course_table(tasks: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """How the accuracy at each node of the longest path rises in recorded runs.

    Parameters
    ----------
    tasks
        of a record: `{"parameters", "result"}` for each run.

    Returns
    -------
    pandas.DataFrame
        a row for each evaluation and node: `objective`, `query`, `seed`, `step`, `node` (counted
        from the root, which is 0, whatever the order of the answer), `accuracy` under teacher
        forcing, or of the one pass of teacherless training.

    Raises
    ------
    ValueError
        what is not a result of `path_star`.

    Examples
    --------
    >>> from ntpcompanion.experiments import course_table
    >>> from ntpcompanion.experiments.planning import path_star
    >>> size = {"width": 8, "layers": 1, "heads": 1}
    >>> values = {"size": size, "steps": 2, "batch_size": 4, "held_out": 20, "seed": 0}
    >>> result = path_star.run(path_star.Plan.from_json(values))
    >>> table = course_table([{"parameters": values, "result": result.to_json()}])
    >>> table[["step", "node"]].values.tolist()
    [[0, 0], [0, 1], [0, 2], [0, 3], [2, 0], [2, 1], [2, 2], [2, 3]]
    """
    rows = [
        (plan.objective, plan.query, plan.seed, evaluation.step, node, accuracy)
        for plan, result in _read(tasks)
        for evaluation in result.evaluations
        for node, accuracy in enumerate(
            _from_root(plan, evaluation.scores[_longest(plan)].accuracy)
        )
    ]
    return pd.DataFrame(rows, columns=list(COURSE))


def _read(tasks: Sequence[Mapping[str, Any]]) -> list[tuple[Plan, Result]]:
    return [
        (Plan.from_json(task["parameters"]), Result.from_json(task["result"])) for task in tasks
    ]


def _until(result: Result, steps: int | None) -> Result:
    if steps is None or result.evaluations[-1].step <= steps:
        return result
    evaluations = tuple(evaluation for evaluation in result.evaluations if evaluation.step <= steps)
    return result.model_copy(update={"evaluations": evaluations, "solved_at": None})


def _longest(plan: Plan) -> int:
    return max(range(len(plan.lengths)), key=lambda k: plan.lengths[k])


def _from_root(plan: Plan, accuracy: tuple[float, ...]) -> tuple[float, ...]:
    return accuracy[::-1] if plan.objective == "reversed" else accuracy


def _row(plan: Plan, result: Result) -> dict[str, object]:
    last = result.evaluations[-1]
    longest = _longest(plan)
    scores, wrong = last.scores[longest], last.wrong_arm[longest]
    row = {name: getattr(plan, name) for name in ("arms", "query", "objective", "others", "seed")}
    row |= {
        "length": plan.lengths[longest],
        "step": last.step,
        "solved": result.solved_at is not None,
        "exact": scores.exact,
        "first_node": scores.accuracy[FIRST_NODE],
        "first_loss": scores.cross_entropy[FIRST_NODE],
        "later": min(scores.accuracy[FIRST_NODE + 1 :]),
        "order": _order(result, longest),
        "stall": _stall(plan, result, longest),
    }
    if wrong is not None:
        row |= {"follows": min(wrong.agreement), "leaf": wrong.leaf, "goal": wrong.goal}
    if result.trained_on is not None:
        row["memorized"] = result.trained_on[longest].exact
    return row


def _order(result: Result, task: int, level: float = 0.9) -> int | None:
    first = _first_step(result, task, lambda accuracy: accuracy[FIRST_NODE] >= level)
    late = _first_step(result, task, lambda accuracy: accuracy[-2] >= level)
    if late is None:
        return None
    return (result.evaluations[-1].step if first is None else first) - late


def _stall(plan: Plan, result: Result, task: int) -> int | None:
    guess = 1 / plan.arms + 0.1
    onset = _first_step(result, task, lambda accuracy: min(accuracy[FIRST_NODE + 1 :]) >= 0.98)
    if onset is None:
        return None
    left = _first_step(result, task, lambda accuracy: accuracy[FIRST_NODE] > guess, onset)
    return (result.evaluations[-1].step if left is None else left) - onset


def _first_step(
    result: Result, task: int, holds: Callable[[tuple[float, ...]], bool], after: int = 0
) -> int | None:
    reached = (
        evaluation.step
        for evaluation in result.evaluations
        if evaluation.step >= after and holds(evaluation.scores[task].accuracy)
    )
    return next(reached, None)

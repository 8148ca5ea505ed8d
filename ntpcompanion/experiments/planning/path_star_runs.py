"""Recorded runs of `path_star` as tables: what they reached, and how they got there."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from ntpcompanion.experiments.planning.path_star import FIRST_NODE, Plan, Result
from ntpcompanion.recorded import Run
from ntpcompanion.validation import as_integer

COLUMNS = (
    "arms", "length", "query", "objective", "others", "seed", "step", "solved", "exact",
    "first_node", "first_loss", "later", "follows", "leaf", "goal", "memorized", "order", "stall",
    "minutes",
)  # fmt: skip
NUMBERS = {  # of `describe_runs`: a column, what is taken over its rows, and a factor
    "runs": ("seed", "size", 1), "solved": ("solved", "sum", 1), "steps": ("step", "max", 1),
    "first": ("first_node", "mean", 100), "best": ("first_node", "max", 100),
    "exact": ("exact", "mean", 100), "memorized": ("memorized", "mean", 100),
    "later_min": ("later", "min", 100), "later_max": ("later", "max", 100),
    "follows": ("follows", "mean", 100), "follows_min": ("follows", "min", 100),
    "stall": ("stall", "mean", 1), "order": ("order", "mean", 1),
    "cheats": ("cheats", "sum", 1), "near_cheats": ("near_cheats", "sum", 1),
    "guesses": ("guesses", "sum", 1),
}  # fmt: skip
COURSE = ("objective", "query", "seed", "step", "node", "accuracy")


def runs_table(
    tasks: Sequence[Run[Plan, Result]], steps: int | None = None, *, length: int | None = None
) -> pd.DataFrame:
    """One row for each recorded run, as if it had ended after so many `steps` (None: at its end),
    about paths of one `length` (None: the longest): its plan, and the following; missing where not
    defined.

    `first_node` is A_1, `first_loss` CE_1, and `later` the least A_i of i = 2 … l − 1. In a wrong
    arm `follows` is the least agreement, and `leaf` and `goal` are those at the last position.
    `order` is the step at which A_1 first reaches 0.9, or the last one, minus that of A_{l−2}.
    `stall` counts steps from the first evaluation with all A_i, i = 2 … l − 1, at least 0.98 to the
    first one after it with A_1 above 1/d + 0.1, or to the end. `memorized`, exact answers on a
    fixed training set, and `minutes` are of the whole run. Raises ValueError for another length.
    """
    if steps is not None:
        steps = as_integer("steps", steps, 0)
    rows = [_row(task.plan, _until(task.result, steps), length) for task in tasks]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    minutes = [task.seconds / 60 for task in tasks]
    return table.assign(minutes=minutes).astype({"order": float, "stall": float})


def course_table(tasks: Sequence[Run[Plan, Result]]) -> pd.DataFrame:
    """How the accuracy at each node of the longest path rises in recorded runs: a row for each
    evaluation and node, `objective`, `query`, `seed`, `step`, `node` (counted from the root, which
    is 0, whatever the order of the answer) and `accuracy` under teacher forcing, or of the one pass
    of teacherless training.
    """
    rows = [
        (plan.objective, plan.query, plan.seed, evaluation.step, node, accuracy)
        for task in tasks
        for plan in [task.plan]
        for evaluation in task.result.evaluations
        for node, accuracy in enumerate(
            _from_root(plan, evaluation.scores[_longest(plan)].accuracy)
        )
    ]
    return pd.DataFrame(rows, columns=list(COURSE))


def describe_runs(kinds: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """The numbers that a text says of several kinds of runs, rows of `runs_table`, as
    `KIND_NUMBER`: see `NUMBERS`; undefined ones are left out. Runs that `cheats` counts have
    `later` at least 0.98, those of `near_cheats` at least 0.9, and those of `guesses` A_1 below
    0.6. Raises ValueError for no kind.
    """
    if not kinds:
        raise ValueError("`kinds` must hold at least one table of runs, got none.")
    rows = pd.concat(kinds, names=["kind"])
    rows = rows.assign(
        cheats=rows.later >= 0.98, near_cheats=rows.later >= 0.9, guesses=rows.first_node < 0.6
    )
    return {
        f"{kind}_{name}": float(scale * number)
        for name, (column, how, scale) in NUMBERS.items()
        for kind, number in rows[column].astype(float).groupby("kind").agg(how).dropna().items()
    }


def _until(result: Result, steps: int | None) -> Result:
    if steps is None or result.evaluations[-1].step <= steps:
        return result
    evaluations = tuple(evaluation for evaluation in result.evaluations if evaluation.step <= steps)
    return result.model_copy(update={"evaluations": evaluations, "solved_at": None})


def _longest(plan: Plan) -> int:
    return plan.lengths.index(max(plan.lengths))


def _of_length(plan: Plan, length: int) -> int:
    if length not in plan.lengths:
        raise ValueError(f"`length` must be one of {list(plan.lengths)}, got {length!r}.")
    return plan.lengths.index(length)


def _from_root(plan: Plan, accuracy: tuple[float, ...]) -> tuple[float, ...]:
    return accuracy[::-1] if plan.objective == "reversed" else accuracy


def _row(plan: Plan, result: Result, length: int | None) -> dict[str, object]:
    last = result.evaluations[-1]
    task = _longest(plan) if length is None else _of_length(plan, length)
    scores, wrong = last.scores[task], last.wrong_arm[task]
    row = {name: getattr(plan, name) for name in ("arms", "query", "objective", "others", "seed")}
    row |= {
        "length": plan.lengths[task],
        "step": last.step,
        "solved": result.solved_at is not None,
        "exact": scores.exact,
        "first_node": scores.accuracy[FIRST_NODE],
        "first_loss": scores.cross_entropy[FIRST_NODE],
        "later": min(scores.accuracy[FIRST_NODE + 1 :]),
        "order": _order(result, task),
        "stall": _stall(plan, result, task),
    }
    if wrong is not None:
        row |= {"follows": min(wrong.agreement), "leaf": wrong.leaf, "goal": wrong.goal}
    if result.trained_on is not None:
        row["memorized"] = result.trained_on[task].exact
    return row


def _order(result: Result, task: int) -> int | None:
    first = _first_step(result, task, lambda accuracy: accuracy[FIRST_NODE] >= 0.9)
    late = _first_step(result, task, lambda accuracy: accuracy[-2] >= 0.9)
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

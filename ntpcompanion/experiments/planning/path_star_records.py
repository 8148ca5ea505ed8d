"""The recorded runs on path-star graphs together: which networks plan the first node."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ntpcompanion.experiments.planning.path_star import FIRST_NODE, Plan, Result
from ntpcompanion.planning.oracles import cheat_loss
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, estimate, mean_effect, paired_effect
from ntpcompanion.statistics.success_rates import Successes, count_successes
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
RECORDS = (
    "last", "first", "first_node", "small_set", "long", "arms", "mixed", "map_three", "map_four",
    "map_five_alone", "map_five_tenth", "map_five_all",
)  # fmt: skip
KINDS = {  # of runs: which rows of all runs
    "end": "record == 'last' and objective == 'next_token'",
    "back": "record == 'last' and objective == 'reversed'",
    "forced": "record == 'first' and objective == 'next_token'",
    "taught": "record == 'first' and objective == 'teacherless'",
    "alone": "record == 'first_node' and query == 'first'",
    "alone_last": "record == 'first_node' and query == 'last'",
    "five": "record == 'map_five_all' and query == 'last'",
    "three_arms": "arms == 3",
    "five_arms": "arms == 5",
    "long": "record == 'long'",
    "mixed": "record == 'mixed'",
    "set": "record == 'small_set'",
}
MAPPED = {  # which of those that are cut at `MAP_STEPS`
    "map_first_3": "query == 'first' and length == 3",
    "map_last_3": "query == 'last' and length == 3",
    "map_alone": "query == 'first' and length == 4 and others == 0",
    "map_tenth": "query == 'first' and length == 4 and others == 0.1",
    "map_all": "query == 'first' and length == 4 and others == 1",
    "map_five": "length == 5",
    "map_hard": "length == 5 or query == 'last' and length == 4",
}
EARLY, GUESSING, MAP_STEPS = 500, 2000, 3000  # steps after which runs are read
WEIGHTS = {0.0: "first_node", 0.1: "map_four", 1.0: "first"}  # of the other tokens
COUNTED = {
    "runs": ("seed", "size"),
    "solved": ("solved", "sum"),
    "steps at most": ("step", "max"),
    "right about the first node": ("first_node", "mean"),
    "minutes at most": ("minutes", "max"),
}


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


@dataclass(frozen=True, eq=False)
class PathStarRuns:
    """What `read_path_stars` returns: the rows of `runs_table` for all runs, `mapped` those with
    next tokens and two arms, `solved` within 3000 steps, and the `courses` of each record.

    `kinds` holds the rows of each of `KINDS` and `MAPPED`; `early` and `guessing`, those of `end`
    after 500 and 2000 steps; `mixed_3` and `mixed_4`, the mixed runs on three and on four nodes.
    """

    table: pd.DataFrame
    mapped: pd.DataFrame
    kinds: dict[str, pd.DataFrame]
    courses: dict[str, pd.DataFrame]

    def mean(self, kind: str, column: str) -> Effect:
        """Over the runs of a kind."""
        return mean_effect(self.kinds[kind][column])

    def solved(self, kind: str) -> Successes:
        """How many runs of a kind solve the task."""
        return count_successes(self.kinds[kind].solved.tolist())

    @property
    def first_bits(self) -> Effect:
        """Loss at the first node while it is guessed, bits."""
        return mean_effect(self.kinds["guessing"].first_loss / np.log(2))

    @property
    def interference(self) -> Effect:
        """How many more runs solve the task where the first node is trained alone."""
        alone, forced = self.solved("alone"), self.solved("forced")
        error = float(np.hypot(alone.stderr, forced.stderr))
        return estimate(alone.mean - forced.mean, error, alone.replicates)

    @property
    def over_chance(self) -> Effect:
        """Accuracy at the first node times the number of arms, while it is guessed."""
        rows = pd.concat([self.kinds["guessing"], self.table.query("record == 'arms'")])
        return mean_effect(rows.first_node * rows.arms)

    @property
    def memorized(self) -> Effect:
        """Exact answers on a small training set less those on new graphs."""
        return paired_effect(self.kinds["set"].memorized, self.kinds["set"].exact)

    @property
    def without_others(self) -> Effect:
        """Fraction of runs of the map that solve the task without the other tokens, less that with
        all; paired by seed, over lengths and positions of the query.
        """
        arms = self._shares(self.mapped, ["seed", "length", "query"], "others")
        by_seed = arms.groupby("seed").mean()
        return paired_effect(by_seed[0.0], by_seed[1.0])

    @property
    def query_first(self) -> Effect:
        """The same on three nodes: query first less query last."""
        places = self._shares(self.mapped.query("length == 3"), "seed", "query")
        return paired_effect(places["first"], places["last"])

    @property
    def map_records(self) -> list[str]:
        """The names of the records of `mapped`."""
        return [*("path_star_" + self.mapped.record).unique()]

    @property
    def by_weight(self) -> pd.DataFrame:
        """Courses with the query first, for each weight of the other tokens, `others`."""
        chosen = {weight: self.courses[record] for weight, record in WEIGHTS.items()}
        table = pd.concat(chosen, names=["others"]).reset_index("others")
        table = table.query("query == 'first' and objective == 'next_token'")
        return table[[*COURSE, "others"]]

    @property
    def counted(self) -> pd.DataFrame:
        """All runs, a row for each setting."""
        shown = self.table.assign(objective=self.table.objective.str.replace("_", " "))
        names = {"length": "nodes", "others": "weight of the other tokens"}
        columns = ["record", "arms", "nodes", "query", "objective", names["others"]]
        settings = shown.rename(columns=names).groupby(columns, sort=False)
        return settings.agg(**COUNTED).reset_index().drop(columns="record")

    def numbers(self, *kinds: str) -> dict[str, float]:
        """What the text says of some kinds: see `describe_runs`."""
        return describe_runs({kind: self.kinds[kind] for kind in kinds})

    def _shares(self, runs: pd.DataFrame, rows: str | list[str], columns: str) -> pd.DataFrame:
        return runs.astype({"solved": float}).pivot_table("solved", rows, columns)


def read_path_stars(recorded: Mapping[str, Sequence[Run[Plan, Result]]]) -> PathStarRuns:
    """Read the runs of all `RECORDS`, by name."""
    tables = {name: runs_table(tasks) for name, tasks in recorded.items()}
    table = pd.concat(tables, names=["record"]).reset_index("record")
    mapped = table.query("objective == 'next_token' and record.str.match('map|first|last')")
    mapped = mapped.assign(solved=mapped.solved & (mapped.step <= MAP_STEPS))
    kinds = {kind: table.query(rows) for kind, rows in KINDS.items()}
    for kind, steps in (("early", EARLY), ("guessing", GUESSING)):
        kinds[kind] = runs_table(recorded["last"], steps).query("objective == 'next_token'")
    for length in (3, 4):
        kinds[f"mixed_{length}"] = runs_table(recorded["mixed"], length=length)
    kinds |= {kind: mapped.query(rows) for kind, rows in MAPPED.items()}
    courses = {name: course_table(tasks) for name, tasks in recorded.items()}
    return PathStarRuns(table, mapped, kinds, courses)


def printed_accuracies() -> pd.DataFrame:
    """What Bachmann and Nagarajan (2024) print for five graphs, per cent of right answers, beside
    the loss of the cheat.
    """
    arms, nodes = [2, 2, 5, 10, 20], [5, 20, 5, 5, 5]
    return pd.DataFrame(
        {
            "arms": arms,
            "nodes": nodes,
            "next": [50, 50, 20, 9, 1],
            "teacherless": [100, 0, 0, 0, 0],
            "same, GPT-2": [100, 1, 99, 99, 0],
            "backwards": [100, 100, 100, 100, 0],
            "1/d": 100 / np.array(arms),
            "cheat (nats)": list(map(cheat_loss, arms, nodes)),
        }
    )

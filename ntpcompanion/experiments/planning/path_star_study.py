"""The recorded runs on path-star graphs together: which networks plan the first node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ntpcompanion.experiments.planning.path_star import Plan, Result
from ntpcompanion.experiments.planning.path_star_runs import (
    COURSE,
    course_table,
    describe_runs,
    runs_table,
)
from ntpcompanion.planning.oracles import cheat_loss
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, estimate, mean_effect, paired_effect
from ntpcompanion.statistics.success_rates import Successes, count_successes

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

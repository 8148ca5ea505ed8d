"""Does training from a random start come where the ridge path leads?"""

from typing import Annotated, Literal, NamedTuple

import pandas as pd
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.geometry.ridge_tables import TOLERANCE, TablePlan
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.geometry.factor_descent import train_factors
from ntpcompanion.geometry.nuclear_svm import solve_nuclear_svm
from ntpcompanion.linear.dynamics.alignment import cosine_distance
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, paired_effect


class Training(NamedTuple):
    """How factors are trained."""

    method: Literal["gd", "adam"]
    step_size: float
    scale: float  # standard deviation of the start
    ridge: float = 0.0  # λ
    fraction: float = 1.0  # of the plan's steps


RUNS = {
    "GD, small start": Training("gd", 2.0, 0.1),
    "GD, large start": Training("gd", 2.0, 1.0),
    "Adam, small start": Training("adam", 1e-3, 0.1, fraction=0.25),
    "Adam, large start": Training("adam", 1e-3, 1.0, fraction=0.25),
    "Adam, penalty 1e-5": Training("adam", 1e-3, 0.1, ridge=1e-5),
}


class Plan(TablePlan):
    """Random tables, and how long factors are trained on them.

    `support_size` is below `vocab_size`.
    """

    steps: Annotated[int, Field(ge=4, description="of gradient descent, or Adam with a penalty")]


class End(experiment.Result):
    """Where one training on one table ends."""

    table: int
    run: Annotated[str, Field(description="one of `RUNS`")]
    steps: int
    cosine: Annotated[float, Field(description="of the logits and the SVM's solution")]


class Result(experiment.Result):
    """The ends of all trainings."""

    ends: tuple[End, ...]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each table and training."""
        return table_of(self.ends)

    @property
    def cosines(self) -> pd.DataFrame:
        """A row for each table, a column for each training."""
        return self.table.pivot(index="table", columns="run", values="cosine")

    def small_start(self, method: str) -> Effect:
        """By how much a small start of GD or Adam ends nearer the solution than a large one."""
        small, large = (self.cosines[f"{method}, {size} start"] for size in ("small", "large"))
        return paired_effect(small, large)

    def ahead(self, run: str, path: pd.Series) -> Effect:
        """By how much a training ends nearer the solution than the ridge path, by table."""
        return paired_effect(self.cosines[run], path)

    def beside(self, path: pd.Series) -> pd.DataFrame:
        """A row for each table and training: its cosine, and the difference from the ridge path."""
        table = self.table
        table["minus the path"] = table.cosine - table.table.map(path)
        return table.drop(columns="table")


def run(plan: Plan) -> Result:
    """Train free word vectors and context embeddings on random tables, by gradient descent and by
    Adam, with and without a penalty, from small and from large starts.

    Returns the cosine of the logits with the solution of the nuclear-norm SVM at each end. Cost
    that of `train_factors`, 3.5 times the plan's steps for each table: 30 s at 20,000 steps.

    Examples
    --------
    >>> from ntpcompanion.experiments.geometry import factor_starts
    >>> shape = {"vocab_size": 6, "num_supports": 4, "copies": 2, "support_size": 2}
    >>> plan = factor_starts.Plan(**shape, tables=2, steps=40, seed=0)
    >>> factor_starts.run(plan).table.steps[:5].tolist()
    [40, 40, 10, 10, 40]
    """
    return Result(ends=tuple(end for number in range(plan.tables) for end in _ends(plan, number)))


def _ends(plan: Plan, number: int) -> list[End]:
    table, rng = plan.next_token(number), stream(plan.seed, f"start {number}")
    limit = solve_nuclear_svm(table > 0, tol=TOLERANCE).logits
    sizes = (len(table), plan.vocab_size), (plan.vocab_size, plan.vocab_size)
    first = [rng.standard_normal(size) for size in sizes]
    ends = []
    for name, training in RUNS.items():
        steps = int(plan.steps * training.fraction)
        trained = train_factors(
            table,
            plan.weight,
            *(training.scale * factor for factor in first),
            step_size=training.step_size,
            keep=[steps],
            ridge=training.ridge,
            method=training.method,
        )
        cosine = float(1 - cosine_distance(trained.logits, limit)[0])
        ends.append(End(table=number, run=name, steps=steps, cosine=cosine))
    return ends

"""In which norm does Adam on a few sampled tokens a step maximize the margin? Its growth against
gradient flow in the norm of its noise, with and without a tilt, and against two other norms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.decoders.separable_tables import separable_tables
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.linear.dynamics.adam_norm import (
    preconditioned_flow,
    predict_adam_weights,
    predict_noisy_adam,
)
from ntpcompanion.linear.dynamics.alignment import cosine_distance
from ntpcompanion.linear.dynamics.decomposed_loss import split_bases
from ntpcompanion.linear.dynamics.stochastic_descent import descend_many
from ntpcompanion.linear.svm.weighted_svm import project_onto_cone, solve_weighted_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, mean_effect

Decoder = Float[np.ndarray, "V d"]

# m, V, S and d of the tables, and the standard deviation of the logarithms of the factors by which
# the coordinates of their embeddings are stretched.
SIZES, STRETCH = (8, 6, 3, 9), 1.0
# β₁, how fast steps decay, and the factor in steps over which growth is measured.
BETA1, POWER, GROWS_OVER = 0.9, 0.5, 10
# Relative gap of the weights of full-batch Adam.
TOLERANCE = 1e-4
DISTANCES = ["tilted", "noise", "full_batch", "frobenius"]  # of a `Growth`


class Plan(experiment.Plan):
    """Adam on random tables with stretched embeddings, V = 6, m = 8, d = 9 and S = 3."""

    beta2: Annotated[float, Field(gt=0, lt=1, description="β₂ of Adam; β₁ = 0.9")]
    batch_size: Annotated[int, Field(ge=1, description="B, sampled pairs of context and token")]
    steps: Annotated[int, Field(ge=1000, description="K, of each run")]
    learning_rate: Annotated[float, Field(gt=0, description="η; η / √k in step k")]
    tables: Annotated[int, Field(ge=2, description="random tables, a run on each")]
    seed: Annotated[int, Field(ge=0, description="of tables and samples")]


class Growth(BaseModel):
    """Of one run from K/10 to K, orthogonal to F. Distances are 1 − cos from what gradient flow
    from W = 0 gains between the same sums of learning rates. The norms of rivals are scaled to the
    geometric mean of s.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    tilted: Annotated[float, Field(ge=0, description="in the norm s of the noise, with the tilt T")]
    noise: Annotated[float, Field(ge=0, description="in the norm s, without the tilt")]
    full_batch: Annotated[float, Field(ge=0, description="in the norm of full-batch Adam")]
    frobenius: Annotated[float, Field(ge=0, description="in the Frobenius norm")]
    speed: Annotated[
        float, Field(description="the growth along the first flow's, as a multiple of it")
    ]
    margin_cosine: Annotated[float, Field(description="with the max-margin solution in the norm s")]
    drift_cosine: Annotated[
        float, Field(description="with the velocity at which the tilted flow ends")
    ]


class Result(experiment.Result):
    """The growth on every table."""

    growths: tuple[Growth, ...]


def run(plan: Plan) -> Result:
    """Run Adam on small batches of every table, and compare its growth with four flows.

    Returns distances and cosines for each table. Some 0.1 ms a step for ten tables with one sample.

    Examples
    --------
    >>> from ntpcompanion.experiments.adam import minibatch_adam
    >>> plan = {"beta2": 0.999, "batch_size": 1, "learning_rate": 0.5}
    >>> plan = minibatch_adam.Plan(**plan, steps=5000, tables=2, seed=0)
    >>> found = minibatch_adam.run(plan)
    >>> [growth.noise < growth.frobenius for growth in found.growths]
    [True, True]
    """
    tables = stretched_tables(plan)
    keep = [plan.steps // GROWS_OVER, plan.steps]
    weights = descend_many(
        tables,
        [stream(plan.seed, f"samples {i}") for i in range(plan.tables)],
        learning_rate=plan.learning_rate,
        batch_size=plan.batch_size,
        steps=plan.steps,
        keep=keep,
        power=POWER,
        betas=(BETA1, plan.beta2),
    )
    rates = plan.learning_rate * np.arange(1.0, plan.steps + 1) ** -POWER
    times = np.cumsum(rates)[np.array(keep) - 1]
    grown = weights[1] - weights[0]
    return Result(
        growths=tuple(_compare(plan, table, times, grown[i]) for i, table in enumerate(tables))
    )


def stretched_tables(plan: Plan) -> list[ContextTable]:
    """Separable random tables, each coordinate of whose embeddings is stretched."""
    drawn, _ = separable_tables(
        SIZES, plan.tables, lambda draw: stream(plan.seed, f"table {draw}"), tol=1e-10
    )
    factors = np.exp(
        STRETCH * stream(plan.seed, "stretch").standard_normal((plan.tables, SIZES[-1]))
    )
    return [
        ContextTable(table.embeddings * factor, table.next_token, table.weight)
        for (table, _), factor in zip(drawn, factors, strict=True)
    ]


def _compare(
    plan: Plan, table: ContextTable, times: Float[np.ndarray, " n"], grown: Decoder
) -> Growth:
    noisy = predict_noisy_adam(table, betas=(BETA1, plan.beta2), batch_size=plan.batch_size)
    s = noisy.weights
    full = predict_adam_weights(table, rng=stream(plan.seed, "solver"), tol=TOLERANCE).weights
    norms = {"noise": s, "full_batch": full, "frobenius": np.ones(s.shape)}
    flows = {"tilted": preconditioned_flow(table, s, times, tilt=noisy.tilt)} | {
        name: preconditioned_flow(table, norm * np.exp(np.mean(np.log(s / norm))), times)
        for name, norm in norms.items()
    }
    limits = solve_weighted_svm(table, s).weights, project_onto_cone(table, s, noisy.tilt / s)
    basis = split_bases(table).growing
    growth, *others = (
        np.tensordot(np.tensordot(basis, each, 2), basis, 1)
        for each in (grown, *limits, *(flow[1] - flow[0] for flow in flows.values()))
    )
    margin, drift, *distances = (float(cosine_distance(growth[None], x)[0]) for x in others)
    return Growth(
        **dict(zip(flows, distances, strict=True)),
        speed=float(np.vdot(growth, others[2]) / np.vdot(others[2], others[2])),
        margin_cosine=1 - margin,
        drift_cosine=1 - drift,
    )


@dataclass(frozen=True, eq=False)
class Growths:
    """What `read_growths` returns: a `table` with a row for each run, the plan's β₂ and B beside
    the fields of its `Growth`.
    """

    table: pd.DataFrame

    def case(self, beta2: float, batch_size: int) -> pd.DataFrame:
        """The runs with these constants."""
        return self.table.query("beta2 == @beta2 and batch_size == @batch_size")

    def over_rivals(self, beta2: float, batch_size: int) -> Effect:
        """Log₁₀ of the distance from the nearer rival over that from the flow in the norm s."""
        case = self.case(beta2, batch_size)
        return mean_effect(np.log10(case[["full_batch", "frobenius"]].min(axis=1) / case.noise))

    def by_tilt(self, beta2: float, batch_size: int) -> Effect:
        """Log₁₀ of the distance without the tilt over that with it."""
        case = self.case(beta2, batch_size)
        return mean_effect(np.log10(case.noise / case.tilted))

    def beyond_margin(self, beta2: float, batch_size: int) -> Effect:
        """Cosine with the drift less that with the max-margin solution."""
        case = self.case(beta2, batch_size)
        return mean_effect(case.drift_cosine - case.margin_cosine)

    @property
    def means(self) -> pd.DataFrame:
        """Of every column, a row for each B and β₂: geometric means of distances."""
        table = self.table.copy()
        table[DISTANCES] = np.log(table[DISTANCES])
        means = table.groupby(["batch_size", "beta2"]).mean()
        means[DISTANCES] = np.exp(means[DISTANCES])
        return means.reset_index()


def read_growths(tasks: Sequence[Run[Plan, Result]]) -> Growths:
    """Read recorded runs, with at least two tables for each choice of constants."""
    return Growths(
        pd.concat(
            [
                table_of(task.result.growths).assign(
                    beta2=task.plan.beta2, batch_size=task.plan.batch_size
                )
                for task in tasks
            ],
            ignore_index=True,
        )
    )

"""The weights of Adam's norm in pictures: entry by entry on a random table, and on two contexts in
the plane, where gradient descent grows towards another solution.
"""

from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.adam.adam_limit import (
    LEARNING_RATE,
    TOLERANCE,
    Adam,
    measured_weights,
)
from ntpcompanion.linear.dynamics.adam_norm import predict_adam_weights
from ntpcompanion.linear.dynamics.descent import descend
from ntpcompanion.linear.svm.weighted_svm import solve_weighted_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream

PAPER = Adam(beta1=0.9, beta2=0.99, rate="constant")
PLANE = np.array([[2.0, 1.0], [1.0, 2.0]])  # embeddings of the two contexts
SNAPSHOTS = 200  # of the last two thirds of a run

Numbers = tuple[float, ...]


class Plan(experiment.Plan):
    """A random table, and how long Adam runs.

    `dim` is no less than `num_contexts`.
    """

    num_contexts: Annotated[int, Field(ge=2, description="m")]
    dim: Annotated[int, Field(ge=2, description="d")]
    vocab_size: Annotated[int, Field(ge=3, description="V, tokens")]
    support_size: Annotated[int, Field(ge=2, description="S_j of every context, tokens")]
    steps: Annotated[int, Field(ge=3000, description="of each run")]
    seed: Annotated[int, Field(ge=0, description="of the table and the start")]

    @model_validator(mode="after")
    def _embeddings_are_independent(self) -> "Plan":
        if self.dim < self.num_contexts:
            raise ValueError(
                f"`dim` must be at least `num_contexts` = {self.num_contexts}, got {self.dim}."
            )
        return self


class PlaneRun(experiment.Result):
    """A run on the two contexts in the plane, with a row for each of three words."""

    optimizer: str
    growth: Annotated[tuple[Numbers, ...], Field(description="over a factor 3, by log 3")]
    solution: Annotated[tuple[Numbers, ...], Field(description="of the SVM in its norm")]


class Result(experiment.Result):
    """Weights of both tables, entry by entry."""

    predicted: Annotated[Numbers, Field(description="s, on the random table")]
    measured: Annotated[Numbers, Field(description="√v / r, beside it")]
    ratios: Annotated[Numbers, Field(description="measured over predicted, in the plane")]
    plane: Annotated[tuple[PlaneRun, ...], Field(description="of GD and of Adam")]

    @property
    def growths(self) -> pd.DataFrame:
        """A row for each optimizer and word."""
        tables = {run.optimizer: pd.DataFrame(run.growth) for run in self.plane}
        return pd.concat(tables, names=["optimizer", "word"]).reset_index()


def run(plan: Plan) -> Result:
    """Measure the second moments of Adam on two tables beside their predictions, and in which
    direction GD and Adam grow on the smaller one.

    Returns weights and growths. Some 40 µs a step and run, and a second for the rest.

    Examples
    --------
    >>> from ntpcompanion.experiments import adam_weights
    >>> sizes = {"num_contexts": 4, "dim": 6, "vocab_size": 4, "support_size": 2}
    >>> found = adam_weights.run(adam_weights.Plan(**sizes, steps=3000, seed=0))
    >>> [run.optimizer for run in found.plane], len(found.predicted)
    (['GD', 'Adam'], 24)
    """
    keep = np.linspace(plan.steps // 3, plan.steps, SNAPSHOTS).astype(int)
    run_settings: dict[str, Any] = {
        "steps": plan.steps,
        "keep": keep,
        "rng": stream(plan.seed, "start"),
    }
    adam: dict[str, Any] = {"learning_rate": LEARNING_RATE, "betas": (PAPER.beta1, PAPER.beta2)}
    solver = stream(plan.seed, "solver")
    p = np.array([[0.5, 0.5, 0], [0, 0.5, 0.5]])
    small, start = ContextTable(PLANE, p, np.array([0.5, 0.5])), np.eye(3, 2)
    weights = predict_adam_weights(small, rng=solver).weights
    paths = {
        "GD": list(descend(small, optimizer="gd", learning_rate=0.5, start=start, **run_settings)),
        "Adam": list(descend(small, optimizer="adam", start=start, **adam, **run_settings)),
    }
    sizes = plan.num_contexts, plan.vocab_size, plan.support_size, plan.dim
    table = ContextTable.random(*sizes, stream(plan.seed, "pictured table"))
    predicted = predict_adam_weights(table, rng=solver, tol=TOLERANCE).weights
    path = list(descend(table, optimizer="adam", **adam, **run_settings))
    norms = {"GD": np.ones((3, 2)), "Adam": weights}
    return Result(
        predicted=tuple(predicted.ravel().tolist()),
        measured=tuple(measured_weights(path, PAPER).ravel().tolist()),
        ratios=tuple((measured_weights(paths["Adam"], PAPER) / weights).ravel().tolist()),
        plane=tuple(
            PlaneRun(
                optimizer=name,
                growth=((path[-1].weights - path[0].weights) / np.log(3)).tolist(),
                solution=solve_weighted_svm(small, norms[name]).weights.tolist(),
            )
            for name, path in paths.items()
        ),
    )

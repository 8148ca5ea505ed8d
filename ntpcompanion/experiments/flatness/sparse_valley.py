"""What becomes of the valley where some tokens cannot follow?"""

from typing import Annotated

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.flatness import toy_models
from ntpcompanion.flatness.ensemble import follow_sgd
from ntpcompanion.flatness.hessian import full_hessian
from ntpcompanion.flatness.model import ConditionalModel
from ntpcompanion.randomness import stream

LEARNING_RATE = 0.02
SNAPSHOTS, MARKS = 400, 14


class Plan(experiment.Plan):
    """Gradient descent on the exact loss of a linear model with sparse supports."""

    steps: Annotated[int, Field(ge=1000, description="of gradient descent")] = 20_000
    seed: Annotated[int, Field(ge=0, description="of the model and its start")]


class Point(experiment.Result):
    """One step of the descent."""

    step: float
    norm: Annotated[float, Field(description="of the parameters")]
    excess: Annotated[float, Field(description="loss above its infimum (nats)")]
    eigenvalues: Annotated[
        tuple[float, ...], Field(description="of the Hessian, as many as its rank at the start")
    ]


class Result(experiment.Result):
    """The points, at steps whose logarithms are evenly spaced."""

    points: tuple[Point, ...]
    inside: Annotated[int, Field(description="odds within the supports")]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each step: its eigenvalues by number, excess loss and norm."""
        table = table_of(self.points).set_index("step")
        eigenvalues = pd.DataFrame(table.eigenvalues.tolist(), index=table.index)
        return eigenvalues.assign(excess=table.excess, norm=table.norm)

    @property
    def spectra(self) -> Float[np.ndarray, "points rank"]:
        """The eigenvalues of each point."""
        return np.array([one.eigenvalues for one in self.points])

    @property
    def order(self) -> float:
        """Power of the step with which the largest eigenvalue off the supports falls at last."""
        step = self.table.index.to_numpy()
        late = step > step.max() / 10
        return float(np.polyfit(np.log(step[late]), np.log(self.spectra[late, self.inside]), 1)[0])


def run(plan: Plan) -> Result:
    """Descend the loss of a linear model with sparse supports, and follow the Hessian.

    Returns eigenvalues, excess loss and norm of the parameters at some steps. Cost 0.2 ms a step.

    Examples
    --------
    >>> from ntpcompanion.experiments.flatness import sparse_valley
    >>> result = sparse_valley.run(sparse_valley.Plan(steps=1000, seed=0))
    >>> result.inside, result.order < 0, result.points[-1].excess < result.points[0].excess
    (5, True, True)
    """
    sparse, rng = toy_models.sparse_linear(stream(plan.seed, "sparse")), stream(plan.seed, "none")
    model, start = sparse.model, sparse.start
    path = follow_sgd(model, start, LEARNING_RATE, plan.steps, None, 1, rng, snapshots=SNAPSHOTS)
    marks = np.geomspace(4, len(path.steps) - 1, MARKS).round().astype(int)
    rank = int(torch.linalg.matrix_rank(model.scores(start)))
    return Result(
        points=tuple(
            Point(
                step=float(path.steps[mark]),
                norm=float(path.thetas[mark, 0].norm()),
                excess=float(model.excess(path.thetas[mark])),
                eigenvalues=tuple(_spectrum(model, path.thetas[mark, 0])[:rank]),
            )
            for mark in np.unique(marks)
        ),
        inside=int((model.distributions > 0).sum(1).sub(1).sum()),
    )


def _spectrum(model: ConditionalModel, theta: Tensor) -> Float[np.ndarray, " d"]:
    """The eigenvalues of the Hessian, falling."""
    return np.asarray(torch.linalg.eigvalsh(full_hessian(model.loss, theta)).flip(0))

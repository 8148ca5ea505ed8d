"""Do networks that learn few images of digits disagree as often as they err?"""

from typing import Annotated

import pandas as pd
import torch
from jaxtyping import Bool, Int
from pydantic import Field
from sklearn.datasets import load_digits
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.generalization.disagreement_mlp import ARMS, Arm, Fraction
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.generalization.disagreement import compare_disagreement
from ntpcompanion.generalization.stacked_mlp import (
    draw_order,
    draw_stacked_mlp,
    train_stacked_mlp,
)
from ntpcompanion.randomness import torch_stream
from ntpcompanion.statistics.effects import Effect, mean_effect


class Plan(experiment.Plan):
    """Ensembles of perceptrons on random splits of scikit-learn's digits."""

    models: Annotated[int, Field(ge=2, description="networks of an ensemble")] = 20
    images: Annotated[
        int, Field(ge=25, le=80, description="on which a network is trained, in batches of 25")
    ] = 50
    runs: Annotated[int, Field(ge=2, description="splits into training and test images")] = 5
    epochs: Annotated[int, Field(ge=1, description="passes over the images")] = 50
    seed: Annotated[int, Field(ge=0, description="of splits, starts and orders")]


class Ensemble(experiment.Result):
    """Networks of one split that differ in one thing only, on the images that none saw."""

    run: int
    differ_in: Annotated[Arm, Field(description="what is drawn anew for each network")]
    error: Annotated[Fraction, Field(description="of a network, mean")]
    disagreement: Annotated[Fraction, Field(description="of two different networks, mean")]
    calibration_error: Annotated[float, Field(ge=0, le=2, description="CACE of the votes")]


class Result(experiment.Result):
    """All ensembles, and what the others say where a network with data of its own errs."""

    ensembles: tuple[Ensemble, ...]
    other_right: Annotated[Fraction, Field(description="of the other networks, mean over errors")]
    most_right: Annotated[
        Fraction, Field(description="of the errors on which most of the others are right")
    ]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each ensemble."""
        return table_of(self.ensembles)

    def ratio(self, arm: Arm) -> Effect:
        """Disagreement over error, mean over splits."""
        table = self.table[self.table.differ_in == arm]
        return mean_effect(table.disagreement / table.error)


def run(plan: Plan) -> Result:
    """Train ensembles on images of digits, with new images, a new start or a new order of the
    images for each network, and compare their networks on images that none saw.

    Returns error, disagreement and calibration error of each ensemble. Cost 1 ms a step and
    ensemble on one core.

    Examples
    --------
    >>> from ntpcompanion.experiments.generalization import digits_disagreement
    >>> plan = digits_disagreement.Plan(models=4, images=25, runs=2, epochs=5, seed=0)
    >>> found = digits_disagreement.run(plan)
    >>> found.ratio("data").replicates, len(found.ensembles)
    (2, 6)
    """
    ensembles, others = [], []
    for arm in ARMS:
        for split in range(plan.runs):
            guesses, labels = _guesses(plan, split, arm)
            estimate = compare_disagreement(guesses, labels)
            ensembles.append(
                Ensemble(
                    run=split,
                    differ_in=arm,
                    error=estimate.error,
                    disagreement=estimate.between_models,
                    calibration_error=estimate.calibration_error,
                )
            )
            if arm == "data":
                others.append(_others_right(guesses == labels))
    right = torch.cat(others)
    return Result(
        ensembles=tuple(ensembles),
        other_right=right.mean().item(),
        most_right=(right > 0.5).float().mean().item(),
    )


def _guesses(plan: Plan, split: int, arm: Arm) -> tuple[Int[Tensor, "models n"], Int[Tensor, " n"]]:
    """The classes by each network of the images that none saw, and the right ones."""
    pixels, classes = load_digits(return_X_y=True)
    X, y = torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(classes)
    starts, orders = (
        [
            torch_stream(plan.seed, f"digits {split} {kind} {i if kind == arm else 0}")
            for i in range(plan.models)
        ]
        for kind in ("start", "order")
    )
    rows = torch.randperm(len(y), generator=torch_stream(plan.seed, f"split {split}"))
    used = plan.models * plan.images
    pool, rest = rows[:used].view(plan.models, plan.images), rows[used:]
    seen = pool if arm == "data" else pool[:1].expand(plan.models, plan.images)
    order = draw_order(orders, count=plan.images, epochs=plan.epochs, batch_size=25)
    start = draw_stacked_mlp(starts, [64, 64, 10])
    networks = train_stacked_mlp(start, X[seen], y[seen], order, learning_rate=0.1)
    return networks.predictions(X[rest]), y[rest]


def _others_right(right: Bool[Tensor, "models n"]) -> Tensor:
    """For each error of a network: the fraction of the other networks that are right."""
    return (right.sum(0) / (len(right) - 1)).expand_as(right)[~right]

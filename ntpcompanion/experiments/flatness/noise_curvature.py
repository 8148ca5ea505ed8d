"""Is the covariance of the gradient of one example the Hessian, at a minimizer and beside it?"""

from typing import Annotated

import pandas as pd
import torch
from pydantic import Field
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.flatness.valley_models import network, valley_models
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.flatness.hessian import full_hessian
from ntpcompanion.flatness.manifold import tangent_basis
from ntpcompanion.flatness.model import ConditionalModel, gradient_covariance
from ntpcompanion.flatness.toy_models import ToyModel
from ntpcompanion.randomness import stream

BESIDE = 0.1  # standard deviation of each parameter at the second point


class Plan(experiment.Plan):
    """The four models of `valley_models`."""

    hidden: Annotated[int, Field(ge=16, description="hidden units of the network")] = 24
    seed: Annotated[int, Field(ge=0, description="of models and points")]


class Curved(experiment.Result):
    """One model."""

    model: str
    d: Annotated[int, Field(description="parameters")]
    rank: Annotated[int, Field(description="M, of the Hessian at the minimizer")]
    smallest: Annotated[float, Field(description="eigenvalue that is not zero")]
    largest: Annotated[float, Field(description="eigenvalue")]
    gap: Annotated[float, Field(description="largest entry of H − Σ at the minimizer")]
    beside: Annotated[float, Field(description="the same at a point beside it")]


class Result(experiment.Result):
    """All models."""

    models: tuple[Curved, ...]
    smallest: Annotated[
        float, Field(description="eigenvalue above 0 for three words and sentences of three")
    ]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each model, with its eigenvalues."""
        names = {"d": "parameters", "rank": "rank M", "smallest": "least eigenvalue > 0"}
        table = table_of(self.models).set_index("model").rename(columns=names)
        return table[[*names.values(), "largest"]]

    @property
    def gap(self) -> float:
        """The largest entry of H − Σ at a minimizer over the largest eigenvalue, of all models."""
        return max(one.gap / one.largest for one in self.models)

    @property
    def beside(self) -> float:
        """The smallest of the gaps beside the minimizers."""
        return min(one.beside for one in self.models)


def run(plan: Plan) -> Result:
    """Compute Hessians and covariances of small models by enumeration.

    Returns eigenvalues, and how far covariances are from Hessians. Cost 1 s.

    Examples
    --------
    >>> from ntpcompanion.experiments.flatness import noise_curvature
    >>> result = noise_curvature.run(noise_curvature.Plan(hidden=16, seed=0))
    >>> result.gap < 1e-12, result.beside > 0.001, [one.rank for one in result.models]
    (True, True, [1, 3, 4, 9])
    """
    larger = network(plan.seed, "three words", 16, words=3)
    models = valley_models(plan.seed, plan.hidden)
    return Result(
        models=tuple(_curved(plan.seed, name, toy) for name, toy in models.items()),
        smallest=float(tangent_basis(larger.model, larger.start).eigenvalues[-1]),
    )


def _curved(seed: int, name: str, toy: ToyModel) -> Curved:
    space = tangent_basis(toy.model, toy.start)
    step = BESIDE * torch.tensor(stream(seed, name).normal(size=toy.start.shape))
    return Curved(
        model=name,
        d=len(toy.start),
        rank=space.rank,
        smallest=float(space.eigenvalues[-1]),
        largest=float(space.eigenvalues[0]),
        gap=_gap(toy.model, toy.start),
        beside=_gap(toy.model, toy.start + step),
    )


def _gap(model: ConditionalModel, theta: Tensor) -> float:
    difference = full_hessian(model.loss, theta) - gradient_covariance(model, theta)
    return float(difference.abs().max())

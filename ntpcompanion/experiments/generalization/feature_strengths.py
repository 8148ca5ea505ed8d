"""Does sharpness-aware minimization learn more of a hard feature than descent, at equal loss?"""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from pydantic import Field, field_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.flatness.trace_estimators import exact_trace
from ntpcompanion.generalization.sharpness_aware import (
    FeatureModel,
    ascended,
    gini,
    train_to_losses,
)
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect, slope_within_seeds

EASY = 2.0  # mean of y times the easy feature
LEARNING_RATE = 0.02  # small, so that losses are met closely
Data = tuple[Float[np.ndarray, "stack n 2"], Float[np.ndarray, "stack n"]]


class Training(NamedTuple):
    """Data, and what SAM perturbs."""

    hard: float  # mean of y times the hard feature
    deviations: tuple[float, float]  # of the easy and of the hard feature
    mirrored: bool = False  # each example a second time, with its features exchanged
    last_layer: bool = False  # SAM of the last layer alone


MODELS = {
    "SAM": Training(1.0, (0.3, 0.8)),
    "SAM of the last layer": Training(1.0, (0.3, 0.8), last_layer=True),
    "exchangeable": Training(2.0, (0.5, 0.5), mirrored=True),
    "useless": Training(0.0, (0.3, 1.0)),
}
COMPARED = tuple(MODELS)[:3]  # where hard over easy feature means something


class Plan(experiment.Plan):
    """Two features, easy and hard, of labels ±1, and f(x) = u_e v_e x_e + u_h v_h x_h."""

    radii: Annotated[
        tuple[Annotated[float, Field(gt=0, le=1)], ...],
        Field(min_length=2, description="ρ of SAM, rising; descent, ρ = 0, is added"),
    ]
    losses: Annotated[
        tuple[Annotated[float, Field(gt=0, lt=0.5)], ...],
        Field(min_length=1, description="at which models are compared (nats), falling"),
    ]
    examples: Annotated[int, Field(ge=20, description="of each data set")] = 200
    seeds: Annotated[int, Field(ge=2, description="data sets")] = 10
    start: Annotated[float, Field(gt=0, description="of all parameters")] = 0.5
    seed: Annotated[int, Field(ge=0, description="of the data")]

    @field_validator("radii")
    @classmethod
    def _rise(cls, radii: tuple[float, ...]) -> tuple[float, ...]:
        if list(radii) != sorted(set(radii)):
            raise ValueError(f"`radii` must rise, got {list(radii)}.")
        return radii

    @field_validator("losses")
    @classmethod
    def _fall(cls, losses: tuple[float, ...]) -> tuple[float, ...]:
        if list(losses) != sorted(set(losses), reverse=True):
            raise ValueError(f"`losses` must fall, got {list(losses)}.")
        return losses

    @property
    def rho(self) -> list[float]:
        """The radii of all arms, from 0."""
        return [0.0, *self.radii]

    @property
    def middle(self) -> int:
        """Which of the losses is the one of most comparisons."""
        return len(self.losses) // 2


class Model(experiment.Result):
    """A model where its training loss first falls to a level."""

    model: Annotated[str, Field(description="one of `MODELS`")]
    loss: Annotated[float, Field(description="the level (nats)")]
    rho: float
    seed: Annotated[int, Field(description="of the data set, from 0")]
    easy: Annotated[float, Field(description="u_e, strength of the easy feature")]
    hard: Annotated[float, Field(description="u_h, strength of the hard feature")]
    reached: Annotated[float, Field(description="training loss (nats)")]
    trace: Annotated[float, Field(description="of the Hessian, by the formula")]


class Result(experiment.Result):
    """All models, and what the step uphill changes at models trained by descent."""

    plan: Plan
    models: tuple[Model, ...]
    weights: Annotated[tuple[float, ...], Field(description="λ_i, for one model of descent")]
    uphill: Annotated[tuple[float, ...], Field(description="the same after the longest step")]
    uneven: Annotated[tuple[float, ...], Field(description="change of their Gini coefficient")]
    tilt: Annotated[tuple[float, ...], Field(description="change of v_h / v_e")]
    ascended_trace: Annotated[
        tuple[float, ...], Field(description="after a step of the second radius")
    ]
    trace_error: Annotated[float, Field(description="largest relative error of the formula")]
    exceptions: Annotated[int, Field(description="random models that contradict the proposition")]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each model, with the quotient of hard and easy feature as `ratio`."""
        table = table_of(self.models)
        return table.assign(ratio=table.hard / table.easy)

    def of(self, model: str, field: str) -> Float[np.ndarray, "losses radii seeds"]:
        """A column of the models of one training."""
        table = self.table
        shape = (len(self.plan.losses), len(self.plan.rho), self.plan.seeds)
        return table[field][table.model == model].to_numpy().reshape(shape)

    @property
    def ratios(self) -> pd.DataFrame:
        """The quotient in a column for each seed, a row for each training, loss and radius."""
        table = self.table.set_index(["model", "loss", "rho", "seed"]).ratio
        return table[list(COMPARED)].unstack("seed", sort=False).add_prefix("seed ")

    def slope(self, model: str, field: str) -> Effect:
        """Change of a column per unit of ρ, mean over the losses."""
        values = self.of(model, field).mean(0).T
        return slope_within_seeds(np.broadcast_to(self.plan.rho, values.shape), values)

    def change(self, model: str, field: str) -> float:
        """From descent to the largest radius (%), of the mean at the middle loss."""
        first, *_, largest = self.of(model, field)[self.plan.middle].mean(1)
        return float(100 * (largest - first) / abs(first))

    def trace_change(self, model: str) -> Effect:
        """The same of the trace, data set by data set."""
        trace = self.of(model, "trace")[self.plan.middle]
        return mean_effect(100 * (trace[-1] / trace[0] - 1))

    @property
    def trace_ascent(self) -> Effect:
        """By how much (%) the step uphill raises the trace at models of descent."""
        before = self.of("SAM", "trace")[self.plan.middle, 0]
        return mean_effect(100 * (np.array(self.ascended_trace) / before - 1))

    @property
    def gini_change(self) -> Effect:
        """Change of the Gini coefficient of the weights by the step uphill."""
        return mean_effect(np.array(self.uneven))

    @property
    def tilt_change(self) -> Effect:
        """Change of v_h / v_e by the step uphill."""
        return mean_effect(np.array(self.tilt))

    @property
    def missed(self) -> float:
        """How far below its level a training loss is, at most (%)."""
        table = self.table[self.table.model.isin(COMPARED[:2])]
        return float(100 * (1 - (table.reached / table.loss).min()))


def run(plan: Plan) -> Result:
    """Train models by descent and by SAM with several radii, and compare them at equal loss.

    Returns strengths of both features and traces of the Hessian, for each model. All models of a
    training are one stack. Cost 5 s for the chapter's four times 40 models.

    Examples
    --------
    >>> from ntpcompanion.experiments.generalization import feature_strengths
    >>> size = {"examples": 50, "seeds": 2, "seed": 0}
    >>> plan = feature_strengths.Plan(radii=(0.2, 0.5), losses=(0.2, 0.1), **size)
    >>> found = feature_strengths.run(plan)
    >>> found.slope("SAM", "ratio").mean > 0, found.exceptions
    (True, 0)
    """
    trained = {name: _train(plan, training) for name, training in MODELS.items()}
    data, models = trained["SAM"]
    middle = models[plan.middle]
    weights, uphill = (
        tuple(model.importance(*data)[0])
        for model in (middle, ascended(middle, *data, plan.radii[-1]))
    )
    uneven, tilt = _uphill(plan, data, models)
    there = ascended(middle, *data, plan.radii[1])
    return Result(
        plan=plan,
        models=tuple(
            row for name, measured in trained.items() for row in _rows(plan, name, *measured)
        ),
        weights=weights,
        uphill=uphill,
        uneven=tuple(uneven),
        tilt=tuple(tilt),
        ascended_trace=tuple(_traces(there, data)[: plan.seeds]),
        trace_error=_trace_error(plan, data, middle),
        exceptions=_exceptions(plan.seed),
    )


def _train(plan: Plan, training: Training) -> tuple[Data, list[FeatureModel]]:
    """Models for each loss, a stack of all seeds for each radius; the same noise for all."""
    rng = stream(plan.seed, "data")
    y = np.where(np.arange(plan.examples) % 2, 1.0, -1.0) * np.ones((plan.seeds, 1))
    noise = np.array(training.deviations) * rng.standard_normal((plan.seeds, plan.examples, 2))
    X = y[..., None] * [EASY, training.hard] + noise
    if training.mirrored:
        X, y = np.concatenate([X, X[..., ::-1]], 1), np.tile(y, 2)
    data = np.tile(X, (len(plan.rho), 1, 1)), np.tile(y, (len(plan.rho), 1))
    return data, train_to_losses(
        *data,
        radius=np.repeat(plan.rho, plan.seeds),
        losses=np.array(plan.losses),
        start=plan.start,
        learning_rate=LEARNING_RATE,
        last_layer=training.last_layer,
    )


def _rows(plan: Plan, name: str, data: Data, models: list[FeatureModel]) -> Iterator[Model]:
    for loss, model in zip(plan.losses, models, strict=True):
        reached, traces = model.losses(*data), _traces(model, data)
        for i, (easy, hard) in enumerate(model.inner):
            arm, seed = divmod(i, plan.seeds)
            yield Model(
                model=name,
                loss=loss,
                rho=plan.rho[arm],
                seed=seed,
                easy=easy,
                hard=hard,
                reached=reached[i],
                trace=traces[i],
            )


def _traces(model: FeatureModel, data: Data) -> Float[np.ndarray, " stack"]:
    """1/n Σ_i λ_i (1 − λ_i) Σ_j x_ij² (u_j² + v_j²)."""
    lam, sizes = model.importance(*data), model.inner**2 + model.outer**2
    weighted = lam * (1 - lam) * np.einsum("bnj,bj->bn", data[0] ** 2, sizes)
    return np.asarray(weighted.mean(1))


def _uphill(
    plan: Plan, data: Data, models: list[FeatureModel]
) -> tuple[Float[np.ndarray, " seeds"], Float[np.ndarray, " seeds"]]:
    """Changes of the Gini coefficient and of v_h / v_e, means over losses and radii."""
    uneven, tilt, descent = [], [], slice(plan.seeds)  # it comes first
    for model in models:
        inequality = gini(model.importance(*data)[descent])
        before = (model.outer[:, 1] / model.outer[:, 0])[descent]
        for radius in plan.radii:
            there = ascended(model, *data, radius)
            uneven.append(gini(there.importance(*data)[descent]) - inequality)
            tilt.append((there.outer[:, 1] / there.outer[:, 0])[descent] - before)
    return np.mean(uneven, 0), np.mean(tilt, 0)


def _trace_error(plan: Plan, data: Data, model: FeatureModel) -> float:
    """The formula against the trace of the Hessian, for each model of descent."""
    exact = []
    for i in range(plan.seeds):
        X, y = torch.tensor(data[0][i]), torch.tensor(data[1][i])
        theta = torch.tensor(np.append(model.inner[i], model.outer[i]))
        exact.append(exact_trace(partial(_loss, X=X, y=y), theta).value)
    return float(np.abs(exact / _traces(model, data)[: plan.seeds] - 1).max())


def _loss(parameters: torch.Tensor, X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.softplus(-y * (X @ (parameters[:2] * parameters[2:]))).mean()


def _exceptions(seed: int) -> int:
    """How often a step uphill in v contradicts the condition under which it raises v_h / v_e."""
    rng, wrong = stream(seed, "random models"), 0
    for _ in range(1000):
        u, v, c = rng.uniform(0.5, 2, 2), rng.uniform(0.5, 2, 2), rng.uniform(0, 1, 2)
        after = v - rng.uniform(0.01, 0.2) * c * u
        up = after[1] / after[0] > v[1] / v[0]
        wrong += up != (c[1] * u[1] / v[1] < c[0] * u[0] / v[0])
    return int(wrong)

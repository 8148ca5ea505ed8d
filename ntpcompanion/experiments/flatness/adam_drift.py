"""Does Adam drift along a flow of its own, at every batch size, and what does weight decay add?"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import pandas as pd
import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import cosine_similarity

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.flatness.valley_models import PROBABILITY, coin, linear
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.flatness import averages
from ntpcompanion.flatness.averages import at_rate_zero, mean_and_error
from ntpcompanion.flatness.ensemble import follow_adam
from ntpcompanion.flatness.toy_models import ToyModel
from ntpcompanion.flatness.valley_flow import FlowPath, follow_adam_ode, follow_ode
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, estimate, mean_effect

BATCHES = (1, 16)
UNTIL, BRIEF = 0.5, 0.2  # times t at which the runs of the coin and of the linear model end
DECAYS = (0, 0.25, 1)  # λ / η
GROUPS = 10  # of runs, whose means are the replicates of a direction or a rate


class Plan(experiment.Plan):
    """Ensembles of Adam from minimizers of the coin and of the linear model of `valley_models`."""

    runs: Annotated[int, Field(ge=25, description="of each ensemble; fewer with decay")] = 500
    rate: Annotated[float, Field(ge=0.001, le=0.02, description="η of the finest")] = 0.005
    seed: Annotated[int, Field(ge=0, description="of batches and the linear model")]

    @property
    def rates(self) -> list[float]:
        """Learning rates η, falling."""
        return [4 * self.rate, 2 * self.rate, self.rate]


class Displaced(experiment.Result):
    """One ensemble of the coin at its end."""

    B: Annotated[int, Field(description="batch size")]
    rate: Annotated[float, Field(description="η")]
    fraction: Annotated[float, Field(description="displacement along the flow over the flow's")]
    error: Annotated[float, Field(description="standard error of the fraction")]


class Decay(experiment.Result):
    """The rate at which sinh(r/2) of the coin decays with one weight decay, r = log(a/b)."""

    decay: Annotated[float, Field(description="λ / η")]
    measured: Annotated[float, Field(description="from the mean of all runs, for a unit of t")]
    error: Annotated[float, Field(description="standard error over groups of runs")]
    derived: Annotated[float, Field(description="1 / (2 logit) + λ / η")]


class Result(experiment.Result):
    """All ensembles."""

    plan: Plan
    displaced: tuple[Displaced, ...]
    decays: tuple[Decay, ...]
    cosines: Annotated[
        dict[str, float],
        Field(description="mean displacement of the linear model with the flows of Adam and SGD"),
    ]
    gains: Annotated[
        tuple[float, ...], Field(description="first cosine less the second, by group of runs")
    ]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each ensemble of the coin."""
        return table_of(self.displaced)

    def limit(self, batch: int) -> Effect:
        """The fraction of the flow's displacement, at learning rate 0."""
        table = self.table[batch == self.table.B]
        return estimate(*at_rate_zero(self.plan.rates, table.fraction, table.error), self.plan.runs)

    @property
    def batch_exponent(self) -> Effect:
        """Of B in that fraction."""
        limits = [self.limit(batch) for batch in BATCHES]
        numbers = np.array([(one.mean, one.stderr) for one in limits]).T
        return estimate(*averages.exponent(list(BATCHES), *numbers), self.plan.runs)

    @property
    def gain(self) -> Effect:
        """By how much the cosine with the flow of Adam exceeds that with the flow of SGD."""
        return mean_effect(np.array(self.gains))

    @property
    def decay_table(self) -> pd.DataFrame:
        """A row for each weight decay."""
        names = {"decay": "λ / η", "measured": "measured rate", "derived": "derived rate"}
        return table_of(self.decays).rename(columns=names).set_index("λ / η")

    @property
    def decay_ratio(self) -> Effect:
        """Measured over derived rate, with the most weight decay."""
        last = self.decays[-1]
        return estimate(last.measured / last.derived, last.error / last.derived, GROUPS)


def run(plan: Plan) -> Result:
    """Run ensembles of Adam and AdamW from minimizers, and follow the flow derived for them.

    Returns displacements, directions and rates of decay. Cost 0.5 ms a step: η⁻² steps for each
    unit of time.

    Examples
    --------
    >>> from ntpcompanion.experiments.flatness import adam_drift
    >>> result = adam_drift.run(adam_drift.Plan(runs=50, rate=0.02, seed=0))
    >>> 0.5 < result.limit(16).mean < 1.1, result.gain.mean > 0
    (True, True)
    """
    toy, model = coin(), linear(plan.seed)
    flow = _displacement(toy, follow_adam_ode(toy.model, toy.start, UNTIL, points=11))
    ends = {
        (batch, rate): _ends(plan, toy, rate, batch) for batch in BATCHES for rate in plan.rates
    }
    flows = {
        "Adam": follow_adam_ode(model.model, model.start, BRIEF, points=2),
        "SGD": follow_ode(model.model, model.start, BRIEF, points=2),
    }
    ways = {name: _displacement(model, path) for name, path in flows.items()}
    moved = _ends(plan, model, plan.rate, 16, until=BRIEF) - model.start
    groups = torch.stack([part.mean(0) for part in moved.chunk(GROUPS)])
    adam, sgd = (cosine_similarity(groups, way[None]) for way in ways.values())
    return Result(
        plan=plan,
        displaced=tuple(
            _displaced(batch, rate, (end - toy.start) @ (flow / (flow @ flow)))
            for (batch, rate), end in ends.items()
        ),
        decays=tuple(_decays(plan, toy, ends[16, 2 * plan.rate])),
        cosines={
            name: float(cosine_similarity(moved.mean(0), way, 0)) for name, way in ways.items()
        },
        gains=tuple((adam - sgd).tolist()),
    )


def _ends(
    plan: Plan,
    toy: ToyModel,
    rate: float,
    batch: int,
    *,
    until: float = UNTIL,
    decay: float = 0.0,
    runs: int | None = None,
) -> Tensor:
    """The parameters of an ensemble at time `until`, with 1 − β₂ = 40 η²."""
    return follow_adam(
        toy.model,
        toy.start,
        rate,
        round(until / rate**2),
        batch,
        runs or plan.runs,
        stream(plan.seed, f"Adam {rate} {batch}"),
        betas=(0.9, 1 - 40 * rate**2),
        weight_decay=decay,
        snapshots=2,
    ).thetas[-1]


def _displacement(toy: ToyModel, path: FlowPath) -> Tensor:
    return path.thetas[-1] - toy.start


def _displaced(batch: int, rate: float, fractions: Tensor) -> Displaced:
    fraction, error = map(float, mean_and_error(fractions))
    return Displaced(B=batch, rate=rate, fraction=fraction, error=error)


def _decays(plan: Plan, toy: ToyModel, without: Tensor) -> Iterator[Decay]:
    rate, logit = 2 * plan.rate, float(np.log(PROBABILITY / (1 - PROBABILITY)))
    for decay in DECAYS:
        fewer = 2 * plan.runs // 5
        end = _ends(plan, toy, rate, 16, decay=decay * rate, runs=fewer) if decay else without
        means = [part.mean(0) for part in end.chunk(GROUPS)]
        a, b = torch.stack([toy.start, *means, end.mean(0)]).T
        height = torch.sinh((a / b).log() / 2).log()
        rates = (height[0] - height[1:]) / UNTIL
        yield Decay(
            decay=decay,
            measured=float(rates[-1]),
            error=float(mean_and_error(rates[:-1])[1]),
            derived=1 / (2 * logit) + decay,
        )

"""Do runs of SGD converge to the flow along the valleys of four models: how far do they come, how
widely do they spread, and does the trace fall at equal loss?
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import pandas as pd
import torch
from pydantic import Field
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.flatness import drift_constant
from ntpcompanion.experiments.flatness.valley_models import network, valley_models
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.flatness import averages
from ntpcompanion.flatness.averages import at_rate_zero, mean_and_error
from ntpcompanion.flatness.ensemble import EnsemblePath, follow_sgd
from ntpcompanion.flatness.manifold import nearest_minimizer, tangent_basis
from ntpcompanion.flatness.toy_models import ToyModel
from ntpcompanion.flatness.valley_flow import FlowPath, follow_ode
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, estimate, mean_effect

COIN = "Bernoulli"
UNTIL = 1.0  # time at which the ensembles of the other models end
FALLING, RUNS_EACH = 5, 4  # networks at whose end traces are compared, and runs of each
BRIEF = 0.1  # time in which a relative speed is measured


class Plan(drift_constant.Plan):
    """The ensembles of the coin, and a fifth of the runs for each of the other models."""

    hidden: Annotated[int, Field(ge=16, description="hidden units of the networks")] = 24

    @property
    def finer(self) -> list[float]:
        """Learning rates of the other models, falling."""
        return [2 * self.smallest_rate, self.smallest_rate, self.smallest_rate / 2]

    def rates_of(self, model: str) -> list[float]:
        """Those of a model whose ensembles are compared with the flow at their end."""
        return self.rates[1:] if model == COIN else self.finer


class Flow(experiment.Result):
    """The flow of one model."""

    model: str
    times: tuple[float, ...]
    trace: Annotated[tuple[float, ...], Field(description="of the Hessian")]


class Ensemble(experiment.Result):
    """Runs of one model without a closed form against its flow, at the end."""

    model: str
    rate: Annotated[float, Field(description="η")]
    fraction: Annotated[float, Field(description="displacement along the flow over the flow's")]
    fraction_error: float
    plateau: Annotated[float, Field(description="excess loss over η/4 times the trace")]
    plateau_error: float


class Level(experiment.Result):
    """The trace at the minimizers nearest to some runs of the finest ensemble, at one time."""

    model: str
    t: float
    trace: float
    error: Annotated[float, Field(description="standard error of the trace")]
    excess: Annotated[float, Field(description="largest loss above the minimum (nats)")]


class Spread(experiment.Result):
    """Mean squared distances of the runs from the flow, at the end."""

    model: str
    rate: Annotated[float, Field(description="η")]
    total: float
    total_error: float
    across: Annotated[float, Field(description="part across the valley")]
    across_error: float
    along: Annotated[float, Field(description="part along the valley")]
    along_error: float
    predicted: Annotated[float, Field(description="part across the valley, η M / 2")]


class Control(experiment.Result):
    """Gradient descent from starts with the spread of SGD."""

    model: str
    ratio: Annotated[float, Field(description="displacement along the flow over that of SGD")]
    error: float


class Result(experiment.Result):
    """All ensembles."""

    plan: Plan
    flows: tuple[Flow, ...]
    ensembles: tuple[Ensemble, ...]
    levels: tuple[Level, ...]
    spreads: tuple[Spread, ...]
    controls: tuple[Control, ...]
    changes: Annotated[
        tuple[float, ...], Field(description="relative change of the trace, by network")
    ]
    speeds: Annotated[
        dict[str, float], Field(description="relative fall of the trace by unit of t, by model")
    ]

    def limit(self, model: str, field: str) -> Effect:
        """Fraction or plateau of a model, at learning rate 0."""
        table = table_of(one for one in self.ensembles if one.model == model)
        limit = at_rate_zero(self.plan.finer, table[field], table[f"{field}_error"])
        return estimate(*limit, self.plan.replicas // 5)

    @property
    def limit_table(self) -> pd.DataFrame:
        """Both, a row for each model; "e1" and "e2" are their standard errors."""
        rows = {}
        for model in dict.fromkeys(one.model for one in self.ensembles):
            both = [self.limit(model, field) for field in ("fraction", "plateau")]
            rows[model] = [value for one in both for value in (one.mean, one.stderr)]
        heads = ("displacement of SGD / of the flow", "e1", "excess loss / prediction", "e2")
        return pd.DataFrame(rows, index=heads).T.rename_axis("model")

    @property
    def level_table(self) -> pd.DataFrame:
        """A row for each model and time."""
        return table_of(self.levels)

    @property
    def spread_table(self) -> pd.DataFrame:
        """A row for each model and learning rate."""
        table = table_of(self.spreads)
        return table.rename(columns=lambda name: name.replace("_", " "))

    @property
    def spread_exponent(self) -> Effect:
        """Of η in the mean squared distance of the coin from its flow."""
        part = [one for one in self.spreads if one.model == COIN]
        numbers = np.array([(one.rate, one.total, one.total_error) for one in part]).T
        return estimate(*averages.exponent(*numbers), self.plan.replicas)

    @property
    def across(self) -> Effect:
        """Mean squared distance across the valley over its prediction, network, at rate 0."""
        part = [one for one in self.spreads if one.model == "network"]
        numbers = np.array([(one.across, one.across_error) for one in part]).T
        ratios = numbers / [one.predicted for one in part]
        return estimate(*at_rate_zero(self.plan.finer, *ratios), self.plan.replicas // 5)

    @property
    def change(self) -> Effect:
        """Relative change of the trace at the end."""
        return mean_effect(np.array(self.changes))

    @property
    def control(self) -> Effect:
        """The largest displacement of gradient descent over that of SGD."""
        worst = max(self.controls, key=lambda one: one.ratio)
        return estimate(worst.ratio, worst.error, self.plan.replicas // 5)


def run(plan: Plan) -> Result:
    """Run ensembles of SGD from minimizers of four models, and follow the flow from there.

    Returns displacements, distances and traces, for each model and learning rate. Cost 1 ms a step:
    η⁻² steps for each unit of time.

    Examples
    --------
    >>> from ntpcompanion.experiments.flatness import valley_runs
    >>> plan = valley_runs.Plan(replicas=100, smallest_rate=0.1, horizon=0.5, hidden=16, seed=0)
    >>> result = valley_runs.run(plan)
    >>> abs(result.limit("network", "fraction").mean - 1) < 0.3, result.control.mean < 0.3
    (True, True)
    """
    models = valley_models(plan.seed, plan.hidden)
    flows = {
        name: follow_ode(toy.model, toy.start, plan.horizon, points=21)
        if name == COIN
        else follow_ode(toy.model, toy.start, UNTIL, points=11)
        for name, toy in models.items()
    }
    paths = {
        (name, rate): _path(plan, name, toy, rate)
        for name, toy in models.items()
        for rate in plan.rates_of(name)
    }
    others = {name: toy for name, toy in models.items() if name != COIN}
    return Result(
        plan=plan,
        flows=tuple(_flow(name, path) for name, path in flows.items()),
        ensembles=tuple(
            _ensemble(name, toy, flows[name], rate, paths[name, rate])
            for name, toy in others.items()
            for rate in plan.finer
        ),
        levels=tuple(
            level
            for name, toy in others.items()
            for level in _levels(plan, name, toy, paths[name, plan.finer[-1]])
        ),
        spreads=tuple(
            _spread(name, models[name], flows[name].thetas[-1], rate, path)
            for (name, rate), path in paths.items()
        ),
        controls=tuple(
            _control(plan, name, toy, flows[name], paths[name, plan.rates_of(name)[-1]])
            for name, toy in models.items()
        ),
        changes=tuple(_changes(plan, models["network"])),
        speeds={name: _speed(toy) for name, toy in models.items()},
    )


def _path(plan: Plan, name: str, toy: ToyModel, rate: float) -> EnsemblePath:
    """One ensemble of SGD."""
    if name == COIN:
        return drift_constant.follow_coin(plan, rate)
    sizes = (rate, round(UNTIL / rate**2), 1, plan.replicas // 5)
    rng = stream(plan.seed, f"{name} {rate}")
    return follow_sgd(toy.model, toy.start, *sizes, rng, snapshots=41)


def _flow(model: str, path: FlowPath) -> Flow:
    return Flow(model=model, times=tuple(path.times.tolist()), trace=tuple(path.trace.tolist()))


def _way(toy: ToyModel, flow: FlowPath) -> Tensor:
    """A vector whose product with a displacement is its fraction of the flow's."""
    way = flow.thetas[-1] - toy.start
    return way / (way @ way)


def _ensemble(
    name: str, toy: ToyModel, flow: FlowPath, rate: float, path: EnsemblePath
) -> Ensemble:
    fraction, error = map(float, mean_and_error((path.thetas[-1] - toy.start) @ _way(toy, flow)))
    level = np.interp(path.times, flow.times, flow.trace)
    height = toy.model.excess(path.thetas) / torch.tensor(level)[:, None]
    height = height[20:].mean(0) * 4 / rate  # before, it is on its way up
    plateau, plateau_error = map(float, mean_and_error(height))
    return Ensemble(
        model=name,
        rate=rate,
        fraction=fraction,
        fraction_error=error,
        plateau=plateau,
        plateau_error=plateau_error,
    )


def _traces(toy: ToyModel, thetas: Tensor) -> tuple[Tensor, Tensor]:
    """The minimizers nearest to some parameters, and the traces there."""
    below = torch.stack([nearest_minimizer(toy.model, theta) for theta in thetas])
    return below, torch.stack([toy.model.scores(theta).square().sum() for theta in below])


def _levels(plan: Plan, name: str, toy: ToyModel, path: EnsemblePath) -> Iterator[Level]:
    for t, thetas in zip(path.times[::8].tolist(), path.thetas[::8], strict=True):
        below, traces = _traces(toy, thetas[: min(20, plan.replicas // 50)])
        trace, error = map(float, mean_and_error(traces))
        excess = float(toy.model.excess(below).max())
        yield Level(model=name, t=t, trace=trace, error=error, excess=excess)


def _spread(name: str, toy: ToyModel, goal: Tensor, rate: float, path: EnsemblePath) -> Spread:
    space = tangent_basis(toy.model, goal)
    off = path.thetas[-1] - goal
    across = (off @ space.normal).square().sum(1)
    along = off.square().sum(1) - across
    means, errors = mean_and_error(torch.stack([across + along, across, along]))
    return Spread(
        model=name,
        rate=rate,
        total=means[0],
        total_error=errors[0],
        across=means[1],
        across_error=errors[1],
        along=means[2],
        along_error=errors[2],
        predicted=rate * space.rank / 2,
    )


def _control(plan: Plan, name: str, toy: ToyModel, flow: FlowPath, noisy: EnsemblePath) -> Control:
    way, ends = _way(toy, flow), noisy.thetas[-1]
    starts = toy.start + ends - ends.mean(0)
    sizes = (plan.rates_of(name)[-1], int(noisy.steps[-1]), None, len(starts))
    path = follow_sgd(toy.model, starts, *sizes, stream(plan.seed, "control"), snapshots=2)
    settled = (path.thetas[-1] - starts) @ way
    ratio, error = averages.ratio_of_means(settled, (ends - toy.start) @ way)
    return Control(model=name, ratio=ratio, error=error)


def _changes(plan: Plan, first: ToyModel) -> Iterator[float]:
    rate = plan.finer[-1]
    more = [network(plan.seed, f"network {k}", plan.hidden) for k in range(1, FALLING)]
    for draw, toy in enumerate([first, *more]):
        rng = stream(plan.seed, f"fall {draw}")
        sizes = (rate, round(UNTIL / rate**2), 1, RUNS_EACH)
        path = follow_sgd(toy.model, toy.start, *sizes, rng, snapshots=2)
        start = float(toy.model.scores(toy.start).square().sum())
        yield float(_traces(toy, path.thetas[-1])[1].mean()) / start - 1


def _speed(toy: ToyModel) -> float:
    trace = follow_ode(toy.model, toy.start, BRIEF, points=2).trace
    return float(1 - trace[1] / trace[0]) / BRIEF

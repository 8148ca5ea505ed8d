"""With which constant does the mean of SGD drift along a valley, for one Bernoulli variable?"""

from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.flatness.valley_models import PROBABILITY, coin
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.flatness import averages
from ntpcompanion.flatness.averages import at_rate_zero, mean_and_error
from ntpcompanion.flatness.ensemble import EnsemblePath, follow_sgd
from ntpcompanion.flatness.toy_models import imbalance
from ntpcompanion.flatness.valley_flow import follow_ode
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, estimate, mean_effect

VARIANCE = PROBABILITY * (1 - PROBABILITY)  # of a label
BATCHES = (1, 2, 4, 8)
SCALES = (8, 4, 2, 1)  # learning rates over the smallest
DEPTH = 0.75  # of the flow's way in log D: where steps are counted
GROUPS = 10  # of runs, in each of which a variance is measured
PICTURED = 200  # runs whose end is kept
FIRST = float(imbalance(coin().start))  # D at the start


class Plan(experiment.Plan):
    """Ensembles of runs of the coin of `valley_models`."""

    replicas: Annotated[int, Field(ge=100, description="runs of each ensemble")] = 1000
    smallest_rate: Annotated[
        float, Field(ge=0.005, le=0.1, description="η of the finest ensemble")
    ] = 0.05
    horizon: Annotated[float, Field(ge=0.5, le=10, description="time t = η² k of the end")] = 2.0
    seed: Annotated[int, Field(ge=0, description="of models and batches")]

    @property
    def rates(self) -> list[float]:
        """Learning rates η, falling."""
        return [scale * self.smallest_rate for scale in SCALES]


class Fit(experiment.Result):
    """The constant of one ensemble of the coin, from the decay of the mean of D = a² − b²."""

    B: Annotated[int, Field(description="batch size")]
    rate: Annotated[float, Field(description="η")]
    c: Annotated[float, Field(description="constant; the theorem says 1/4")]
    error: Annotated[float, Field(description="standard error of c")]
    gap: Annotated[float, Field(description="mean of D less that of the flow")]
    gap_error: float


class Course(experiment.Result):
    """The mean of D along the ensemble of one learning rate, batch size 1."""

    rate: Annotated[float, Field(description="η")]
    steps: tuple[float, ...]
    times: Annotated[tuple[float, ...], Field(description="η² times the steps")]
    mean: tuple[float, ...]
    error: Annotated[tuple[float, ...], Field(description="standard error of the mean")]
    ratios: Annotated[
        tuple[float, ...],
        Field(description="variance of log D at the end over its prediction, by group of runs"),
    ]
    predicted: Annotated[float, Field(description="variance of log D at the end")]


class Result(experiment.Result):
    """All ensembles, and the flow."""

    plan: Plan
    times: Annotated[tuple[float, ...], Field(description="t along the flow")]
    flow: Annotated[tuple[tuple[float, float], ...], Field(description="(a, b) at these times")]
    fits: tuple[Fit, ...]
    courses: tuple[Course, ...]
    ends: Annotated[
        tuple[tuple[float, float], ...], Field(description="(a, b) of some runs, finest ensemble")
    ]

    @property
    def decay(self) -> Float[np.ndarray, " times"]:
        """The exact D along the flow."""
        return FIRST * np.exp(-VARIANCE * np.array(self.times))

    @property
    def table(self) -> pd.DataFrame:
        """A row for each batch size and learning rate."""
        return table_of(self.fits).rename(columns={"gap_error": "gap error"})

    def constant(self, batch: int) -> Effect:
        """The constant c at learning rate 0."""
        fits = [one for one in self.fits if batch == one.B]
        limit = at_rate_zero(self.plan.rates, [one.c for one in fits], [one.error for one in fits])
        return estimate(*limit, self.plan.replicas)

    @property
    def batch_exponent(self) -> Effect:
        """Of B in the speed of the drift."""
        speeds = [self.constant(batch) for batch in BATCHES]
        means, errors = np.array([(one.mean, one.stderr) for one in speeds]).T / BATCHES
        return estimate(*averages.exponent(list(BATCHES), means, errors), self.plan.replicas)

    @property
    def gap_limit(self) -> Effect:
        """Mean of D less that of the flow, at learning rate 0."""
        gaps = [(one.gap, one.gap_error) for one in self.fits if one.B == 1]
        return estimate(*at_rate_zero(self.plan.rates, *np.array(gaps).T), self.plan.replicas)

    @property
    def step_exponent(self) -> float:
        """Of η in the number of steps to a given depth, from the two finest ensembles."""
        steps = [_steps_to(one, DEPTH * VARIANCE * self.plan.horizon) for one in self.courses[-2:]]
        return averages.exponent(self.plan.rates[-2:], *np.array(steps).T)[0]

    @property
    def deviations(self) -> pd.DataFrame:
        """Variance of log D by learning rate: over its prediction, and the prediction."""
        rows = {}
        for one in self.courses:
            ratio = mean_effect(np.array(one.ratios))
            rows[one.rate] = (ratio.mean, ratio.stderr, one.predicted)
        return pd.DataFrame(rows, index=["ratio", "error", "predicted"]).T

    @property
    def along(self) -> Effect:
        """Variance of log D over its prediction, at learning rate 0."""
        table = self.deviations
        return estimate(*at_rate_zero(self.plan.rates, table.ratio, table.error), GROUPS)


def run(plan: Plan) -> Result:
    """Run ensembles of SGD from one minimizer of the coin, and follow the flow from there.

    Returns the course of D = a² − b², and the constant of its decay, for each learning rate. Cost
    0.5 ms a step: η⁻² steps for each unit of time.

    Examples
    --------
    >>> from ntpcompanion.experiments.flatness import drift_constant
    >>> plan = drift_constant.Plan(replicas=100, smallest_rate=0.1, horizon=0.5, seed=0)
    >>> constant = drift_constant.run(plan).constant(1)
    >>> abs(constant.mean - 1 / 4) < 5 * constant.stderr
    True
    """
    toy = coin()
    flow = follow_ode(toy.model, toy.start, plan.horizon, points=21)
    paths = {rate: follow_coin(plan, rate) for rate in plan.rates}
    return Result(
        plan=plan,
        times=tuple(flow.times.tolist()),
        flow=tuple(map(tuple, flow.thetas.tolist())),
        fits=tuple(
            _fit(batch, rate, path if batch == 1 else follow_coin(plan, rate, batch))
            for batch in BATCHES
            for rate, path in paths.items()
        ),
        courses=tuple(_course(rate, path) for rate, path in paths.items()),
        ends=tuple(map(tuple, paths[plan.rates[-1]].thetas[-1, :PICTURED].tolist())),
    )


def follow_coin(plan: Plan, rate: float, batch: int = 1) -> EnsemblePath:
    """One ensemble of SGD, from the start to the horizon."""
    toy, more = coin(), f", B = {batch}" if batch > 1 else ""
    sizes = (rate, round(plan.horizon / rate**2), batch, plan.replicas)
    rng = stream(plan.seed, f"runs {rate}{more}")
    return follow_sgd(toy.model, toy.start, *sizes, rng, snapshots=21)


def _fit(batch: int, rate: float, path: EnsemblePath) -> Fit:
    mean, error = map(float, mean_and_error(imbalance(path.thetas[-1])))
    elapsed = VARIANCE * float(path.times[-1]) / batch
    return Fit(
        B=batch,
        rate=rate,
        c=-np.log(mean / FIRST) / (4 * elapsed),
        error=error / mean / (4 * elapsed),
        gap=mean - FIRST * np.exp(-elapsed),
        gap_error=error,
    )


def _course(rate: float, path: EnsemblePath) -> Course:
    mean, error = mean_and_error(imbalance(path.thetas))
    groups = imbalance(path.thetas[-1]).log().chunk(GROUPS)
    elapsed = float(path.times[-1])
    predicted = rate**2 * elapsed * VARIANCE * (1 - 2 * PROBABILITY) ** 2
    return Course(
        rate=rate,
        steps=tuple(path.steps.tolist()),
        times=tuple(path.times.tolist()),
        mean=tuple(mean.tolist()),
        error=tuple(error.tolist()),
        ratios=tuple(float(group.var()) / predicted for group in groups),
        predicted=predicted,
    )


def _steps_to(course: Course, depth: float) -> tuple[float, float]:
    """Steps until log D has fallen by `depth`, with a standard error."""
    mean = np.array(course.mean)
    depths = -np.log(mean / FIRST)
    steps = np.interp(depth, depths, course.steps)
    return steps, steps * np.interp(depth, depths, course.error / mean) / depth

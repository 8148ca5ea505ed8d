"""What does a memory of residuals add to a linear base, too small or not?"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.generalization.residual_memory import (
    ResidualMemory,
    draw_ball,
    excess_risk,
    fit_residual_memory,
)
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect, slope_within_seeds

# variances of the label noise, over the risk of the base for many examples
NOISE_RATIOS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
LARGE_ENOUGH = 2.0  # norm of a base that can represent the truth, whose norm is 1
Dim = Annotated[int, Field(ge=1, le=10)]


class Plan(experiment.Plan):
    """Inputs uniform in a ball of radius √d, and a true slope of norm 1."""

    dims: Annotated[tuple[Dim, ...], Field(min_length=1, description="d of the inputs")]
    sizes: Annotated[
        tuple[Annotated[int, Field(ge=10)], ...],
        Field(min_length=2, description="n, stored examples, rising"),
    ]
    norm: Annotated[float, Field(gt=0, lt=1, description="L, largest norm of the base's slope")]
    noise_dim: Annotated[Dim, Field(description="d where labels are noisy, at the largest n")]
    neighbours: Annotated[int, Field(ge=2, description="k of the memory that averages")] = 20
    replicates: Annotated[int, Field(ge=2, description="draws of slope and data")] = 10
    tested: Annotated[int, Field(ge=100, description="new inputs of a risk")] = 2000
    seed: Annotated[int, Field(ge=0, description="of slopes and data")]

    @property
    def base_risk(self) -> float:
        """Of the base alone at `noise_dim`, for n to infinity: (1 − L)² d / (d + 2)."""
        return (1 - self.norm) ** 2 * self.noise_dim / (self.noise_dim + 2)


class Clean(experiment.Result):
    """Risks of one draw without noise: mean squared errors on new inputs."""

    d: int
    n: Annotated[int, Field(description="stored examples")]
    run: int
    memory: Annotated[float, Field(description="of base and memory")]
    nearest: Annotated[float, Field(description="of a memory without a base")]
    base: Annotated[float, Field(description="of the base alone")]
    training: Annotated[float, Field(description="largest error on a stored example")]


class Noisy(experiment.Result):
    """Excess risks of one draw with noise."""

    ratio: Annotated[float, Field(description="variance of the noise over the base's risk")]
    run: int
    L: Annotated[float, Field(description="largest norm of the base's slope")]
    k: Annotated[int, Field(description="neighbours that are averaged")]
    memory: Annotated[float, Field(description="of base and memory")]
    base: Annotated[float, Field(description="of the base alone")]


class Result(experiment.Result):
    """Risks of all draws, with and without noise."""

    plan: Plan
    clean: tuple[Clean, ...]
    noisy: tuple[Noisy, ...]

    @property
    def clean_table(self) -> pd.DataFrame:
        """A row for each draw without noise."""
        return table_of(self.clean)

    @property
    def noisy_table(self) -> pd.DataFrame:
        """A row for each draw with noise and each memory."""
        return table_of(self.noisy)

    @property
    def training_error(self) -> float:
        """The largest error on a stored example, without noise."""
        return max(row.training for row in self.clean)

    @property
    def ratio(self) -> Effect:
        """Risk of base and memory over that of the memory alone, at the largest n, mean over d."""
        last = self._largest()
        return mean_effect((last.memory / last.nearest).groupby(last.run).mean())

    def exponent(self, dim: int) -> Effect:
        """The power of n with which the risk of base and memory falls at d dimensions."""
        table = self.clean_table
        risks = table[table.d == dim].pivot(index="run", columns="n", values="memory")
        e_folds = np.tile(np.log(risks.columns), (len(risks), 1))
        return slope_within_seeds(e_folds, np.log(risks))

    @property
    def exponent_error(self) -> Effect:
        """How far the exponent is from −2/d, where it is farthest."""
        exponents = {dim: self.exponent(dim) for dim in self.plan.dims}
        off = max(exponents, key=lambda dim: abs(exponents[dim].mean + 2 / dim))
        worst = exponents[off]
        return Effect(abs(worst.mean + 2 / off), worst.stderr, worst.replicates, worst.sd)

    def harm(self, norm: float, neighbours: int) -> Effect:
        """By how much a memory raises the risk of a base under noise of twice the base's risk, in
        units of the latter.
        """
        rows = self._noisy(2.0, norm, neighbours)
        return paired_effect(rows.memory / self.plan.base_risk, rows.base / self.plan.base_risk)

    def _largest(self) -> pd.DataFrame:
        table = self.clean_table
        return table[table.n == self.plan.sizes[-1]]

    def _noisy(self, ratio: float, norm: float, neighbours: int) -> pd.DataFrame:
        table = self.noisy_table.set_index("run")
        return table[(table.ratio == ratio) & (norm == table.L) & (table.k == neighbours)]


def run(plan: Plan) -> Result:
    """Measure the risk of a linear base of bounded norm with a memory of its residuals, of the base
    alone, and of the memory alone: without label noise against n and d, and with noise.

    Returns the risks of each draw; draws of different d, n or number share no randomness. Cost O(n
    log n) for a draw: 3 s for the chapter's 160 draws with n up to 6400.

    Examples
    --------
    A base of half the norm halves the errors of the memory.

    >>> from ntpcompanion.experiments.generalization import residual_risks
    >>> sizes = {"dims": (1, 2), "sizes": (50, 200), "noise_dim": 2, "neighbours": 5}
    >>> found = residual_risks.run(residual_risks.Plan(**sizes, norm=0.5, tested=500, seed=0))
    >>> round(found.ratio.mean, 2), found.training_error < 1e-12
    (0.25, True)
    """
    draws = [(d, n, run) for d in plan.dims for n in plan.sizes for run in range(plan.replicates)]
    return Result(
        plan=plan,
        clean=tuple(_clean(plan, *draw) for draw in draws),
        noisy=tuple(row for ratio in NOISE_RATIOS for row in _with_noise(plan, ratio)),
    )


def _draw(plan: Plan, d: int, n: int, run: int) -> tuple[Float[np.ndarray, "..."], ...]:
    """Stored inputs, normal noise, new inputs, and a slope."""
    rng = stream(plan.seed, f"data {d} {n} {run}")
    theta = rng.standard_normal(d)
    stored, new = (draw_ball(rng, count, d, d**0.5) for count in (n, plan.tested))
    return stored, rng.standard_normal(n), new, theta / np.linalg.norm(theta)


def _base_risk(memory: ResidualMemory, new: np.ndarray, theta: np.ndarray) -> float:
    return float(((new @ (theta - memory.slope)) ** 2).mean())


def _clean(plan: Plan, d: int, n: int, run: int) -> Clean:
    x, _, new, theta = _draw(plan, d, n, run)
    memory = fit_residual_memory(x, x @ theta, max_norm=plan.norm)
    nearest = fit_residual_memory(x, x @ theta, max_norm=0)
    return Clean(
        d=d,
        n=n,
        run=run,
        memory=excess_risk(memory, new, theta),
        nearest=excess_risk(nearest, new, theta),
        base=_base_risk(memory, new, theta),
        training=np.abs(memory.predict(x) - x @ theta).max(),
    )


def _with_noise(plan: Plan, ratio: float) -> Iterator[Noisy]:
    for run in range(plan.replicates):
        x, noise, new, theta = _draw(plan, plan.noise_dim, plan.sizes[-1], run)
        y = x @ theta + (ratio * plan.base_risk) ** 0.5 * noise
        for norm, k in ((plan.norm, 1), (plan.norm, plan.neighbours), (LARGE_ENOUGH, 1), (0.0, 1)):
            memory = fit_residual_memory(x, y, max_norm=norm, neighbours=k)
            risk = excess_risk(memory, new, theta)
            base = _base_risk(memory, new, theta)
            yield Noisy(ratio=ratio, run=run, L=norm, k=k, memory=risk, base=base)

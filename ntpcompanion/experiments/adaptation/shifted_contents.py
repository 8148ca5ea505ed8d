"""How much of an attribute do equal distances take, by the number of contents and their variety?"""

from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from ntpcompanion.adaptation.fair_embeddings import (
    common_shift_metric,
    equalizing_metric,
    lossless_metric,
)
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

Spread = Annotated[float, Field(ge=0)]


class Plan(experiment.Plan):
    """Gaussian asymmetries, and shifts that vary around a Gaussian one."""

    spreads: Annotated[
        tuple[Spread, ...], Field(min_length=1, description="standard deviation of shifts over it")
    ]
    dim: Annotated[int, Field(ge=2, description="d, of the embeddings")] = 12
    contents: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1, description="n")
    ]
    draws: Annotated[int, Field(ge=2, description="of contents")]
    small_dim: Annotated[int, Field(ge=2, description="d, where numbers of contents are sought")]
    varied: Annotated[Spread, Field(description="the spread there")]
    searches: Annotated[int, Field(ge=2, description="draws there")]
    ridge: Annotated[float, Field(gt=0, description="of `equalizing_metric`")] = 1e-6
    seed: Annotated[int, Field(ge=0, description="of all draws")]


class Remainder(experiment.Result):
    """The fraction of the squared length of the common shift that a metric leaves."""

    spread: float
    contents: int
    draw: int
    left: float
    predicted: Annotated[float, Field(description="by `common_shift_metric`, of the mean shift")]


class Result(experiment.Result):
    """What is left, and how many contents force a loss."""

    remainders: tuple[Remainder, ...]
    forcing: Annotated[
        tuple[int, ...], Field(description="fewest contents for which no metric is lossless")
    ]
    small_dim: int

    @property
    def table(self) -> pd.DataFrame:
        """A row for each metric."""
        return table_of(self.remainders)

    def left(self, spread: float) -> pd.DataFrame:
        """What is left: a row for each draw, a column for each number of contents."""
        table = self.table
        return table[table.spread == spread].pivot(index="draw", columns="contents", values="left")

    @property
    def forcing_over_dim(self) -> Effect:
        """Contents that force a loss, over the dimension."""
        return mean_effect(np.array(self.forcing) / self.small_dim)


def run(plan: Plan) -> Result:
    """Draw contents, fit metrics at equal distances, and search for the number that forces a loss.

    Returns the fractions that are left, and the numbers. Cost 10 ms for each metric in 12
    dimensions, up to half a second where eigenvalues vanish; a tenth of a second for each search in
    8.

    Examples
    --------
    >>> from ntpcompanion.experiments import shifted_contents
    >>> small = {"small_dim": 4, "varied": 0.0, "searches": 2, "seed": 0}
    >>> plan = shifted_contents.Plan(spreads=(0,), contents=(12,), draws=2, **small)
    >>> shifted_contents.run(plan).forcing
    (4, 4)
    """
    remainders = [
        _remainder(plan, spread, n, draw)
        for spread in plan.spreads
        for n in plan.contents
        for draw in range(plan.draws)
    ]
    forcing = tuple(_fewest(plan, draw) for draw in range(plan.searches))
    return Result(remainders=tuple(remainders), forcing=forcing, small_dim=plan.small_dim)


def _remainder(plan: Plan, spread: float, n: int, draw: int) -> Remainder:
    rng = stream(plan.seed, f"contents {spread:g} {n} {draw}")
    common, asymmetries = rng.standard_normal(plan.dim), rng.standard_normal((n, plan.dim))
    shifts = common + spread * rng.standard_normal((n, plan.dim))
    metric = equalizing_metric(asymmetries, shifts, plan.ridge)
    return Remainder(
        spread=spread,
        contents=n,
        draw=draw,
        left=float(common @ metric @ common / (common @ common)),
        predicted=common_shift_metric(asymmetries, shifts.mean(axis=0))[1],
    )


def _fewest(plan: Plan, draw: int) -> int:
    """By bisection: what forces a loss also does with more contents. All symmetric matrices are
    sums of as many gap matrices as they have dimensions.
    """
    d = plan.small_dim
    rng = stream(plan.seed, f"search {draw}")
    low, high = 0, d * (d + 1) // 2
    common, asymmetries = rng.standard_normal(d), rng.standard_normal((high, d))
    shifts = common + plan.varied * rng.standard_normal((high, d))
    while high - low > 1:
        middle = (low + high) // 2
        if lossless_metric(asymmetries[:middle], shifts[:middle]) is None:
            high = middle
        else:
            low = middle
    return high

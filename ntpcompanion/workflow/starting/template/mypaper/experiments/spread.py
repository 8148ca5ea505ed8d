"""The spread of a mean at one size, for `ntpcompanion record spread` and `ntpcompanion sweep`."""

from typing import Annotated

import numpy as np
from pydantic import Field

from mypaper.mean import spreads_of_means
from ntpcompanion.experiments import experiment


class Plan(experiment.Plan):
    """What decides the numbers."""

    n: Annotated[int, Field(ge=1, description="draws in each mean")]
    groups: Annotated[int, Field(ge=2, description="independent estimates")] = 20
    means: Annotated[int, Field(ge=2, description="means in each estimate")] = 200
    seed: Annotated[int, Field(ge=0, description="of the draws")] = 0


class Result(experiment.Result):
    """The spread, in units of that of one draw, and its standard error."""

    spread: float
    error: float


def run(plan: Plan) -> Result:
    """The mean of the estimates of `spreads_of_means`."""
    rng = np.random.default_rng(plan.seed)
    spreads = spreads_of_means(rng, plan.n, plan.groups, plan.means)
    return Result(spread=spreads.mean(), error=spreads.std(ddof=1) / np.sqrt(plan.groups))

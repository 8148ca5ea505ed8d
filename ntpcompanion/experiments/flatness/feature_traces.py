"""How sharp are random features at each scaling, and do they solve the task with the weights of
Stein's identity?
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from ntpcompanion.dyck import balance, bound, exact_arithmetic, solutions, stein
from ntpcompanion.dyck.bracket_transformer import predict
from ntpcompanion.dyck.sentences import masked_support
from ntpcompanion.experiments import experiment
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, estimate, mean_effect

SCALINGS = ("as drawn", "balanced as a whole", "neuron by neuron")
LENGTHS = (4, 6)


class Plan(experiment.Plan):
    """Random features of lengths 4 and 6."""

    wide: Annotated[int, Field(ge=512, description="features held against their wide limit")]
    draws: Annotated[int, Field(ge=2, description="of the wide features")] = 8
    width: Annotated[int, Field(ge=256, description="features with Stein's weights")] = 1024
    stein_draws: Annotated[int, Field(ge=2, description="of the features with these")] = 200
    seed: Annotated[int, Field(ge=0, description="of the features")]


class Scaled(experiment.Result):
    """Features that interpolate, at one length and scaling."""

    T: Annotated[int, Field(description="brackets")]
    scaling: Annotated[str, Field(description="one of `SCALINGS`")]
    squared_gradients: Annotated[tuple[float, ...], Field(description="of each draw")]
    limit: Annotated[float, Field(description="of their mean, as the width grows")]

    def over(self, level: float) -> Effect:
        """The mean squared gradient as a multiple of `level`."""
        mean = mean_effect(np.array(self.squared_gradients))
        return estimate(mean.mean / level, mean.stderr / level, mean.replicates)

    @property
    def multiple(self) -> Effect:
        """Of the bound."""
        return self.over(bound.lower_bound(self.T))


class Weighted(experiment.Result):
    """Features with Stein's weights, at one length: a number for each draw."""

    T: Annotated[int, Field(description="brackets")]
    losses: Annotated[tuple[float, ...], Field(description="multiples of the derived mean")]
    largest: Annotated[tuple[float, ...], Field(description="squared error over the union bound")]
    rank_gap: Annotated[int, Field(description="of integer features, less N/2 + 2T")]


class Result(experiment.Result):
    """Both kinds of features."""

    scaled: tuple[Scaled, ...]
    weighted: tuple[Weighted, ...]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each length and scaling."""
        rows = {
            (one.T, one.scaling): (
                one.multiple.mean,
                one.multiple.stderr,
                one.limit / bound.lower_bound(one.T),
            )
            for one in self.scaled
        }
        columns = ["multiple of the bound", "error", "wide limit"]
        return pd.DataFrame(rows, index=columns).T.rename_axis(["T", "scaling"])

    @property
    def flattest(self) -> Effect:
        """The smallest multiple of the bound."""
        return min((one.multiple for one in self.scaled), key=lambda one: one.mean)

    @property
    def limit_error(self) -> Effect:
        """The largest relative distance of a mean from its wide limit, with the error of that mean.
        As it is chosen after the draws, it is too large on average.
        """
        ratios = [one.over(one.limit) for one in self.scaled]
        worst = max(ratios, key=lambda one: abs(one.mean - 1))
        return estimate(abs(worst.mean - 1), worst.stderr, worst.replicates)

    @property
    def stein_loss(self) -> Effect:
        """The loss at the largest length, as a multiple of its derived mean."""
        return mean_effect(np.array(self.weighted[-1].losses))

    @property
    def union(self) -> float:
        """The largest squared error over the inputs at the largest length, its mean over draws, as
        a multiple of the union bound.
        """
        return float(np.mean(self.weighted[-1].largest))

    @property
    def rank_gap(self) -> int:
        """The largest distance of a rank from N/2 + 2T."""
        return max(abs(one.rank_gap) for one in self.weighted)


def run(plan: Plan) -> Result:
    """Draw random features, fit them to zero loss or give them the weights of Stein's identity, and
    measure their squared gradients or errors.

    Returns squared gradients at three scalings, losses and errors, and ranks. Cost 0.3 s for each
    draw of 4096 wide features, that of a singular value decomposition.

    Examples
    --------
    >>> from ntpcompanion.experiments.flatness import feature_traces
    >>> plan = feature_traces.Plan(wide=512, draws=2, width=256, stein_draws=20, seed=0)
    >>> result = feature_traces.run(plan)
    >>> result.flattest.mean > 2, result.rank_gap, round(result.stein_loss.mean)
    (True, 0, 1)
    """
    return Result(
        scaled=tuple(one for T in LENGTHS for one in _scaled(plan, T)),
        weighted=tuple(_weighted(plan, T) for T in LENGTHS),
    )


def _scaled(plan: Plan, T: int) -> Iterator[Scaled]:
    rng, (masked, _) = stream(plan.seed, f"wide {T}"), masked_support(T, "random")
    wide = balance.wide_limits(T)
    limits = (wide.raw * plan.wide, wide.global_balanced, wide.neuron_balanced)
    draws = []
    for _ in range(plan.draws):
        drawn = solutions.random_features(T, plan.wide, rng)
        whole = balance.balance_globally(drawn, masked)
        kinds = (drawn, whole, balance.balance_neurons(drawn, masked))
        draws.append([bound.squared_gradient_norm(one, masked) for one in kinds])
    for scaling, limit, norms in zip(SCALINGS, limits, zip(*draws, strict=True), strict=True):
        yield Scaled(T=T, scaling=scaling, squared_gradients=norms, limit=limit)


def _weighted(plan: Plan, T: int) -> Weighted:
    (masked, targets), rng = masked_support(T, "random"), stream(plan.seed, f"Stein {T}")
    variance = stein.single_neuron_variance(T) / plan.width
    draws = []
    for _ in range(plan.stein_draws):
        drawn = stein.stein_features(T, plan.width, rng)
        gaps = (predict(drawn, masked) - targets) ** 2
        draws.append((gaps.mean() / variance, gaps.max() / variance / len(targets)))
    losses, largest = zip(*draws, strict=True)
    needed = len(targets) // 2 + 2 * T
    rows = rng.integers(-99, 100, (2 * T, needed + 3))
    rank = exact_arithmetic.integer_rank(np.maximum(masked.sum(1) @ rows, 0))
    return Weighted(T=T, losses=losses, largest=largest, rank_gap=rank - needed)

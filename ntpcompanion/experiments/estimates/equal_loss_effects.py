"""Networks of nearly equal loss: what they share, and what their traces predict."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.experiments.same_loss.equal_loss import Plan, Result, disturbance_table
from ntpcompanion.mlm.evaluation.evaluate import SATURATED
from ntpcompanion.statistics.effects import (
    Effect,
    estimate,
    mean_effect,
    paired_effect,
    slope_within_seeds,
)
from ntpcompanion.statistics.success_rates import Successes, count_successes

NETWORKS = {0.0: "no penalty", -0.01: "sharper", 0.03: "flatter"}  # by the weight of the penalty


@dataclass(frozen=True, eq=False)
class EqualLossEffects:
    """Estimates over the seeds of a study of `equal_loss`."""

    plan: Plan
    result: Result

    @cached_property
    def networks(self) -> pd.DataFrame:
        """A row for each network, with whether it is `saturated`."""
        networks = table_of(self.result.networks)
        networks["saturated"] = networks.excess + 2 * networks.excess_stderr < SATURATED
        return networks

    @property
    def plain(self) -> pd.DataFrame:
        """The networks without a penalty."""
        return self.networks[self.networks.weight == 0]

    @cached_property
    def silent(self) -> pd.DataFrame:
        """A row for each network with a silent unit."""
        return table_of(self.result.silent)

    def pairs(self, kind: str, weights: tuple[float, float] = (0.0, 0.0)) -> pd.DataFrame:
        """Pairs that differ in "seeds" or in "weights", of these weights."""
        pairs = table_of(self.result.pairs)
        return pairs[(pairs.kind == kind) & (pairs.weights == weights)]

    @cached_property
    def by_seed(self) -> pd.DataFrame:
        """Pairs of networks without a penalty that differ in their seeds."""
        return self.pairs("seeds")

    @property
    def shared_errors(self) -> Effect:
        """What a network explains of the log-probabilities of another, above what it explains of
        the exact ones.
        """
        return paired_effect(self.by_seed.log_probabilities, self.by_seed.truth)

    @property
    def masked_features(self) -> Effect:
        """Mean squared canonical correlation at masks."""
        return mean_effect(self.by_seed.masked)

    @property
    def lead_of_masks(self) -> Effect:
        """Explained variance of features at masks, above that without a mask."""
        return paired_effect(self.by_seed.masked_variance, self.by_seed.unmasked_variance)

    @cached_property
    def disturbed(self) -> pd.DataFrame:
        """As `disturbance_table`, with `ratio`, measured over predicted."""
        table = disturbance_table(self.result.networks, self.plan)
        return table.assign(ratio=table.measured / table.predicted)

    @property
    def sigma(self) -> float:
        """The middle scale of the noise."""
        return self.plan.noise[len(self.plan.noise) // 2]

    @property
    def bits(self) -> int:
        """The middle number of bits."""
        return self.plan.bits[len(self.plan.bits) // 2]

    @property
    def noisy(self) -> pd.DataFrame:
        """Networks with noise of the scale `sigma`."""
        return self.disturbed[self.disturbed.disturbance == f"noise {self.sigma:g}"]

    @property
    def rounded(self) -> pd.DataFrame:
        """Networks whose matrices are rounded to `bits`."""
        return self.disturbed[self.disturbed.disturbance == f"{self.bits} bits"]

    @property
    def noise_ratio(self) -> Effect:
        """Measured over predicted rise of the loss by noise."""
        return mean_effect(self.noisy.groupby("seed").ratio.mean())

    @property
    def rounding_ratio(self) -> Effect:
        """Measured over predicted rise of the loss by rounding."""
        return mean_effect(self.rounded.groupby("seed").ratio.mean())

    @property
    def rounding_slope(self) -> Effect:
        """Of the logarithm of the measured rise against that of the predicted one, over weights."""
        return _slope(self.rounded, "predicted", "measured")

    @property
    def forgetting(self) -> Effect:
        """Slope of the logarithm of what is forgotten against that of the trace, over weights."""
        return _slope(self.networks, "plain", "forgotten")

    @property
    def forgotten_if_isotropic(self) -> pd.Series:
        """The rise of the loss of each network if training had moved in random directions, nats."""
        return self.networks.moved * self.networks.plain / 2

    @property
    def forgotten_times(self) -> pd.Series:
        """By weight, what is forgotten over `forgotten_if_isotropic`."""
        times = self.networks.forgotten / self.forgotten_if_isotropic
        return times.groupby(self.networks.weight).mean()

    @property
    def forgotten_per_nat(self) -> pd.DataFrame:
        """Nats that are forgotten for each nat that is learned, with a row for each seed and a
        column for each weight.
        """
        rates = self.networks.assign(rate=self.networks.forgotten / self.networks.learned)
        return rates.pivot(index="seed", columns="weight", values="rate")

    @property
    def flatter_forgetting(self) -> Effect:
        """By how many e-folds the flatter networks forget more for each nat that they learn."""
        rates = self.forgotten_per_nat.map(np.log)
        return paired_effect(rates[rates.columns.max()], rates[0.0])

    @property
    def activations(self) -> Successes:
        """How often a mask activates a silent unit."""
        tested, on = len(self.silent) * self.plan.sentences, int(self.silent.activated.sum())
        return count_successes([True] * on + [False] * (tested - on))

    @property
    def means(self) -> pd.DataFrame:
        """Means over seeds by weight, with the names of columns that readers see."""
        columns = {
            "excess": "above the floor (nats)",
            "plain": "trace",
            "function": "trace of the function",
            "forgotten": "forgotten (nats)",
            "learned": "learned (nats)",
        }
        return self.networks.groupby("weight")[[*columns]].mean().rename(columns=columns)

    @property
    def mean_table(self) -> pd.DataFrame:
        """The `means`, with the networks in words."""
        return self.means.rename(index=NETWORKS).rename_axis("network").reset_index()

    def forced(self, fit: pd.Series, contexts: int) -> Effect:
        """The divergence of a fit of low rank at fresh contexts over the mean excess without a
        penalty.
        """
        excess = self.plain.excess.mean()
        return estimate(fit.fresh / excess, fit.fresh_stderr / excess, contexts)

    @property
    def noise_table(self) -> pd.DataFrame:
        """Means over seeds of what noise does, for readers."""
        noise = self.disturbed[self.disturbed.disturbance.str.startswith("noise")]
        noise = noise.rename(columns={"ratio": "measured / predicted"})
        columns = ["trace", "predicted", "measured", "measured / predicted"]
        return noise.groupby(["weight", "disturbance"])[columns].mean().reset_index()


def _slope(rows: pd.DataFrame, x: str, y: str) -> Effect:
    arms = {"index": "seed", "columns": "weight"}
    logs = [np.log(rows.pivot(**arms, values=name)) for name in (x, y)]
    return slope_within_seeds(*logs)

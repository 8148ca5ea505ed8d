"""Recorded runs of `phase` as a table, and their limits for many contexts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ntpcompanion.experiments.thresholds.phase import Plan, Result
from ntpcompanion.linear.thresholds.phase_diagram import CrossingSample
from ntpcompanion.linear.thresholds.threshold import predicted_threshold
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, estimate

Tasks = Sequence[Run[Plan, Result]]


@dataclass(frozen=True, eq=False)
class Crossings:
    """What `read_crossings` returns.

    Fields
    ------
    table
        a row for each run: `sizes`, the `predicted` d/m, contexts `m`, the `gap` of crossing and
        prediction with its `error`, fraction of `undecided` draws, whether sizes are `mixed`.
    samples
        of the runs with one size, by V, S and m.
    replicates
        draws of a run, at least.
    """

    table: pd.DataFrame
    samples: dict[tuple[int, int, int], CrossingSample]
    replicates: int

    @property
    def limits(self) -> pd.DataFrame:
        """The line in 1/m through the gaps of each kind of table, as its slope in `contexts`, its
        `limit`, their errors, and χ².
        """
        rows = {}
        for sizes, points in self.table.groupby("sizes", sort=False):
            (slope, limit), (slope_error, limit_error) = fit_in_inverse(
                points.m, points.gap, points.error
            )
            misfit = ((points.gap - limit - slope * (1 / points.m)) * (1 / points.error)) ** 2
            rows[sizes] = slope, slope_error, limit, limit_error, misfit.sum()
        columns = ["contexts", "± contexts", "limit", "± limit", "χ²"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("sizes")

    def limits_of(self, *, mixed: bool) -> pd.DataFrame:
        """The rows of `limits` with one size, or with mixed sizes."""
        kinds = self.table.sizes[self.table.mixed == mixed].unique()
        return self.limits.loc[kinds]

    def farthest_limit(self, *, mixed: bool) -> Effect:
        """The limit that could be farthest from zero, two standard errors away from its value."""
        limits = self.limits_of(mixed=mixed)
        farthest = (limits.limit.abs() + 2 * limits["± limit"]).argmax()
        row = limits.iloc[int(farthest)]
        return estimate(abs(row["limit"]), row["± limit"], self.replicates)

    @property
    def drift(self) -> pd.DataFrame:
        """The mean `gap` over single sizes at each m, with its `error`."""
        by_m = self.table[~self.table.mixed].groupby("m")
        error = by_m.error.apply(np.linalg.norm) / by_m.size()
        return pd.DataFrame({"gap": by_m.gap.mean(), "error": error})

    @property
    def drift_order(self) -> Effect:
        """The power of 1/m with which the mean gap vanishes."""
        drift = self.drift
        x, y = np.log(1 / drift.index), np.log(drift.gap)
        fit, covariance = np.polyfit(x, y, 1, w=drift.gap / drift.error, cov="unscaled")
        return estimate(fit[0], np.sqrt(covariance[0, 0]), self.replicates)


def read_crossings(tasks: Tasks) -> Crossings:
    """Read recorded runs of `phase`.

    Parameters
    ----------
    tasks
        of a record.

    Returns
    -------
    Crossings
        the gaps of crossings and predictions, with their limits for many contexts.

    Examples
    --------
    >>> from ntpcompanion.experiments import phase, read_crossings
    >>> from ntpcompanion.recorded import Run
    >>> sizes = {"vocab_size": 4, "support_sizes": [1], "draws": 3, "seed": 0}
    >>> plans = [phase.Plan.from_json({**sizes, "num_contexts": m}) for m in (6, 12, 24)]
    >>> found = read_crossings([Run(plan, phase.run(plan)) for plan in plans])
    >>> found.table.m.tolist(), found.limits.index.tolist()
    ([6, 12, 24], ['S = 1'])
    """
    rows, samples, draws = [], {}, []
    for task in tasks:
        plan, result = task.plan, task.result
        sizes, sample = plan.support_sizes, result.sample(plan.num_contexts)
        predicted = predicted_threshold(plan.vocab_size, sizes)
        draws.append(len(sample.separable_from))
        row = {"sizes": "S = " + ", ".join(map(str, sizes)), "predicted": predicted}
        row |= {"m": plan.num_contexts, "gap": sample.crossing - predicted}
        row |= {"error": sample.stderr, "undecided": sample.undecided, "mixed": len(sizes) > 1}
        rows.append(row)
        if len(sizes) == 1:
            samples[plan.vocab_size, sizes[0], plan.num_contexts] = sample
    return Crossings(pd.DataFrame(rows), samples, min(draws))


def fit_in_inverse(
    contexts: pd.Series, values: pd.Series, errors: pd.Series
) -> tuple[np.ndarray, np.ndarray]:
    """The weighted line in 1/m: slope and limit, and their standard errors."""
    fit, covariance = np.polyfit(1 / contexts, values, 1, w=1 / errors, cov="unscaled")
    return fit, np.sqrt(np.diag(covariance))

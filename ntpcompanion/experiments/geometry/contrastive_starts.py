"""Does the contrastive loss have one minimum from every start, and what are the angles there?"""

from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Int
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.geometry.contrastive import ContrastiveMinimum, class_gram, contrastive_minimum
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

WARM, COLD = (1.0, 0.5, 0.2, 0.1), (0.05, 0.02)  # temperatures
FEW_DIMS = (2, 3)  # where four classes have little room
LOCAL = 1e-6  # nats above the best start from which an end is a local minimum


class Plan(experiment.Plan):
    """Four classes, two large and two small, and how many random starts."""

    majority: Annotated[int, Field(ge=2, description="samples in each of the large classes")]
    minority: Annotated[int, Field(ge=2, description="samples in each of the small classes")]
    dim: Annotated[int, Field(ge=4, description="d of the features")] = 8
    starts: Annotated[int, Field(ge=2, description="for each temperature of `WARM`")] = 20
    cold_starts: Annotated[int, Field(ge=2, description="for each temperature of `COLD`")] = 3
    seed: Annotated[int, Field(ge=0, description="of the starts")]

    @property
    def labels(self) -> Int[np.ndarray, " n"]:
        """The class of each sample, large ones first."""
        sizes = [self.majority, self.majority, self.minority, self.minority]
        return np.repeat([0, 1, 2, 3], sizes)


class Ends(experiment.Result):
    """Where all starts of one temperature end, with four classes of two sizes."""

    tau: Annotated[float, Field(description="temperature")]
    loss: Annotated[float, Field(description="range of the losses (nats)")]
    gap: Annotated[float, Field(description="largest certified gap (nats)")]
    gram: Annotated[float, Field(description="largest difference of cosines of class means")]
    within: Annotated[float, Field(description="largest deviation of a sample from its class")]
    large: Annotated[float, Field(description="cosine of the large classes, mean over starts")]
    across: Annotated[float, Field(description="cosine of a large and a small class")]
    small: Annotated[float, Field(description="cosine of the small classes")]
    blocks: Annotated[float, Field(description="deviation of the cosines from two blocks")]


class Equal(experiment.Result):
    """The end of one start with classes of equal size."""

    k: Annotated[int, Field(description="classes")]
    tau: float
    error: Annotated[float, Field(description="largest distance of a cosine from −1/(k − 1)")]
    gap: Annotated[float, Field(description="certified (nats)")]


class Few(experiment.Result):
    """The end of one start in few dimensions, at temperature 0.2."""

    d: int
    start: int
    loss: Annotated[float, Field(description="nats")]
    gap: Annotated[float, Field(description="certified (nats)")]


class Result(experiment.Result):
    """The ends of all starts."""

    temperatures: Annotated[tuple[Ends, ...], Field(description="of `WARM` and `COLD`, falling")]
    equal: tuple[Equal, ...]
    few: tuple[Few, ...]
    relaxation_error: Annotated[
        float, Field(description="of the losses against a convex program for class means (nats)")
    ]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each temperature."""
        return table_of(self.temperatures)

    @property
    def warm(self) -> pd.DataFrame:
        """The rows of the temperatures of `WARM`."""
        return self.table[: len(WARM)]

    @property
    def spread(self) -> list[float]:
        """Range of the three cosines at each temperature of `WARM`."""
        return list(np.ptp(self.warm[["large", "across", "small"]].to_numpy(), axis=1))

    @property
    def balanced_error(self) -> float:
        """Largest distance of a cosine from −1/(k − 1), with classes of equal size."""
        return max(one.error for one in self.equal)

    @property
    def few_table(self) -> pd.DataFrame:
        """A row for each start in few dimensions; `above`: nats above the best one."""
        table = table_of(self.few)
        return table.assign(above=table.loss - table.groupby("d").loss.transform("min"))

    def largest_gap(self, dim: int) -> float:
        """The largest certified gap of the starts in so many dimensions, in nats."""
        table = self.few_table
        return float(table.gap[table.d == dim].max())

    def missed(self, dim: int) -> Effect:
        """Starts in so many dimensions that end in a local minimum (%)."""
        table = self.few_table
        return mean_effect(100.0 * (table.above[table.d == dim] > LOCAL))


def run(plan: Plan) -> Result:
    """Minimize the supervised contrastive loss over free features from many starts.

    Returns losses with certified gaps, and cosines of class means: for several temperatures, for
    classes of equal size, and in few dimensions. Cost that of `contrastive_minimum` for each start:
    20 s for the chapter's 200 starts.

    Examples
    --------
    >>> from ntpcompanion.experiments.geometry import contrastive_starts
    >>> sizes = {"majority": 3, "minority": 2, "dim": 4}
    >>> plan = contrastive_starts.Plan(**sizes, starts=2, cold_starts=2, seed=0)
    >>> found = contrastive_starts.run(plan)
    >>> bool(found.warm.gap.max() < 1e-6), found.balanced_error < 1e-4
    (True, True)
    """
    relaxed = [abs(_relaxed(plan, tau) - _smallest_loss(plan, tau)) for tau in (1.0, 0.2)]
    return Result(
        temperatures=tuple(_ends(plan, tau) for tau in WARM + COLD),
        equal=tuple(
            _equal(plan, k, tau, run) for k in range(3, 7) for tau in (1.0, 0.2) for run in range(3)
        ),
        few=tuple(_few(plan, d, start) for d in FEW_DIMS for start in range(2 * plan.starts)),
        relaxation_error=max(relaxed),
    )


def _minimum(
    plan: Plan, labels: Int[np.ndarray, " n"], tau: float, start: int, dim: int
) -> ContrastiveMinimum:
    sizes = "-".join(map(str, np.bincount(labels)))
    rng = stream(plan.seed, f"{sizes} {tau} {dim} {start}")
    first = rng.standard_normal((len(labels), dim))
    iterations = 1000 if tau in WARM else 300
    return contrastive_minimum(labels, first, temperature=tau, max_iterations=iterations)


def _ends(plan: Plan, tau: float) -> Ends:
    starts = plan.starts if tau in WARM else plan.cold_starts
    minima = [_minimum(plan, plan.labels, tau, start, plan.dim) for start in range(starts)]
    seen = [class_gram(one.gram, plan.labels) for one in minima]
    means = np.array([one.means for one in seen])
    mean = means.mean(axis=0)
    return Ends(
        tau=tau,
        loss=np.ptp([one.loss for one in minima]),
        gap=max(one.gap for one in minima),
        gram=np.abs(means - means[0]).max(),
        within=max(one.spread for one in seen),
        large=means[:, 0, 1].mean(),
        across=means[:, :2, 2:].mean(),
        small=means[:, 2, 3].mean(),
        blocks=max(np.ptp(mean[:2, 2:]), abs(mean[0, 0] - 1), abs(mean[3, 3] - 1)),
    )


def _equal(plan: Plan, k: int, tau: float, start: int) -> Equal:
    labels = np.repeat(np.arange(k), 4)
    end = _minimum(plan, labels, tau, start, max(plan.dim, k))
    off = class_gram(end.gram, labels).means[~np.eye(k, dtype=bool)] + 1 / (k - 1)
    return Equal(k=k, tau=tau, error=np.abs(off).max(), gap=end.gap)


def _few(plan: Plan, d: int, start: int) -> Few:
    end = _minimum(plan, plan.labels, 0.2, start, d)
    return Few(d=d, start=start, loss=end.loss, gap=end.gap)


def _smallest_loss(plan: Plan, tau: float) -> float:
    return min(_minimum(plan, plan.labels, tau, start, plan.dim).loss for start in range(2))


def _relaxed(plan: Plan, tau: float) -> float:
    """The least loss over Gram matrices of class means, by a general solver."""
    import cvxpy as cp

    sizes, loss = np.bincount(plan.labels), 0
    K = cp.Variable((4, 4), PSD=True)
    for c, size in enumerate(sizes):
        others = [b for b in range(4) if b != c]
        logs = [np.log(size - 1)]
        logs += [np.log(sizes[b]) + (K[c, b] - K[c, c]) / tau for b in others]
        loss += size / sizes.sum() * cp.log_sum_exp(cp.hstack(logs))
    program = cp.Problem(cp.Minimize(loss), [cp.diag(K) <= 1])
    return float(program.solve(solver=cp.SCS, eps=1e-9, max_iters=100_000))

"""Does SGD at a constant step keep the direction of gradient descent, and by how much does it
fluctuate within the supports?
"""

from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.decoders.separable_tables import Solved, separable_tables
from ntpcompanion.linear.dynamics.alignment import cosine_distance
from ntpcompanion.linear.dynamics.decomposed_loss import split_bases
from ntpcompanion.linear.dynamics.stochastic_descent import descend_many, stationary_covariance
from ntpcompanion.linear.separability.compatibility import require_compatible
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect

POINTS = 7  # decoders of a run: half a decade of steps apart, the last after all
WINDOW = 4  # points between the two whose difference is called growth: two decades
SNAPSHOTS = 400  # decoders from which a stationary variance is measured
SMALL_BATCH = 4  # B there
FAR = 40.0  # multiple of W^mm there, so that nothing leaks
# Arms: the batch size (None for the full gradient), the name of the rate, how fast it decays, and
# the part of the steps that they take.
ARMS = {
    "GD": (None, "learning_rate", 0.0, 1),
    "SGD, B = 1": (1, "learning_rate", 0.0, 1),
    "SGD, B = 8": (8, "learning_rate", 0.0, 10),
    "SGD, B = 64": (64, "learning_rate", 0.0, 10),
    "larger step": (1, "large_rate", 0.0, 5),
    "decaying step": (1, "large_rate", 0.5, 5),
}
Numbers = tuple[float, ...]


class Sizes(experiment.Plan):
    """Of random tables that are separable."""

    num_contexts: Annotated[int, Field(ge=2, description="m")]
    vocab_size: Annotated[int, Field(ge=3, description="V, tokens")]
    support_size: Annotated[int, Field(ge=2, description="S, tokens that can follow a context")]
    dim: Annotated[int, Field(ge=1, description="d")]
    tables: Annotated[int, Field(ge=2, description="separable tables of each kind")]
    seed: Annotated[int, Field(ge=0, description="of tables and samples")]


class Plan(Sizes):
    """Random tables, and how SGD runs on them."""

    seeds: Annotated[int, Field(ge=1, description="runs of SGD on each table")]
    steps: Annotated[int, Field(ge=10_000, description="k at the end; fewer for B > 1")]
    learning_rate: Annotated[float, Field(gt=0, description="η")]
    small_rate: Annotated[float, Field(gt=0, description="η where the variance is measured")]
    large_rate: Annotated[float, Field(gt=0, description="η that is too large, or decays")]


class Path(experiment.Result):
    """One run; Y is the part of W orthogonal to F."""

    arm: Annotated[str, Field(description="how it descends: see ARMS")]
    table: Annotated[int, Field(ge=0)]
    steps: Annotated[tuple[int, ...], Field(description="k")]
    distance: Annotated[Numbers, Field(description="1 − cos of W_k and the SVM")]
    rest_distance: Annotated[Numbers, Field(description="1 − cos of Y_k and the SVM")]
    position: Annotated[Numbers, Field(description="⟨W_k, W^mm⟩ over ‖W^mm‖²")]
    offset: Annotated[Numbers, Field(description="‖Y_k − W^mm log t‖, t the sum of all rates")]
    finite_error: Annotated[Numbers, Field(description="‖P_F W_k − W*‖")]
    off_support: Annotated[Numbers, Field(description="mean probability off the supports")]
    growth: Annotated[
        Numbers, Field(description="cosine of the SVM and the growth of Y up to the last steps")
    ]

    @property
    def speed(self) -> float:
        """What the multiple of W^mm gains per unit of log k, in the last two decades."""
        gained = self.position[-1] - self.position[-1 - WINDOW]
        return float(gained / np.log(self.steps[-1] / self.steps[-1 - WINDOW]))

    @property
    def spread(self) -> float:
        """By how much the offset grows in the last two decades, as a ratio."""
        return self.offset[-1] / self.offset[-1 - WINDOW]


class Fluctuation(experiment.Result):
    """Of SGD with B = 4 at the small rate, from W* + 40 W^mm, for one table: by mode of F."""

    curvature: Annotated[Numbers, Field(description="of the loss within the supports")]
    predicted: Annotated[
        Numbers, Field(description="mean of the variances at these times, from the table")
    ]
    measured: Annotated[Numbers, Field(description="mean square distance from W*")]

    @property
    def ratio(self) -> float:
        """Measured over predicted, of the sums."""
        return sum(self.measured) / sum(self.predicted)

    @property
    def slope(self) -> float:
        """Of log measured over predicted variance against log curvature."""
        ratio = np.divide(self.measured, self.predicted)
        return float(np.polyfit(np.log(self.curvature), np.log(ratio), 1)[0])


class Result(experiment.Result):
    """All runs, and the fluctuation on each table."""

    paths: tuple[Path, ...]
    fluctuations: tuple[Fluctuation, ...]

    def _of(self, arm: str) -> list[Path]:
        return [path for path in self.paths if path.arm == arm]

    def course(self, arm: str, name: str) -> pd.Series:
        """The mean over all runs of a series of `Path`, by k."""
        paths = self._of(arm)
        series = np.mean([getattr(path, name) for path in paths], axis=0)
        return pd.Series(series, pd.Index(paths[0].steps[-len(series) :], name="step k"))

    def by_table(self, arm: str, name: str) -> list[float]:
        """The last value of a series of `Path`, or a number, for each table: means over seeds."""
        values = [(path.table, np.ravel(getattr(path, name))[-1]) for path in self._of(arm)]
        means = pd.DataFrame(values, columns=["table", "value"]).groupby("table").value.mean()
        return list(means)

    def last(self, arm: str, name: str) -> Effect:
        """The mean of `by_table`."""
        return mean_effect(self.by_table(arm, name))

    @property
    def gained(self) -> Effect:
        """Growth cosine of SGD with B = 1 less that of GD, on the same tables."""
        return paired_effect(*(self.by_table(arm, "growth") for arm in ("SGD, B = 1", "GD")))

    @property
    def summary(self) -> pd.DataFrame:
        """A row for each arm: its last values, means over tables."""
        names = ["growth", "speed", "distance", "rest_distance", "finite_error", "off_support"]
        rows = [
            {"arm": arm, "steps": self._of(arm)[0].steps[-1]}
            | {name: self.last(arm, name).mean for name in names}
            for arm in ARMS
        ]
        return pd.DataFrame(rows)

    def predicted_distance(self, rate: float, batch_size: int) -> float:
        """‖P_F W − W*‖ by the stationary covariance: the mean over tables."""
        curvatures = [np.array(each.curvature) for each in self.fluctuations]
        variances = [(rate / batch_size / (2 - rate * each)).sum() for each in curvatures]
        return float(np.sqrt(variances).mean())

    @property
    def modes(self) -> pd.DataFrame:
        """A row for each mode of each table: curvature, and measured variance over predicted."""
        each = [vars(one) for one in self.fluctuations]
        frame = pd.concat([pd.DataFrame(one) for one in each], ignore_index=True)
        return frame.assign(ratio=frame.measured / frame.predicted)

    def over_fluctuations(self, name: str) -> Effect:
        """The mean over tables of `ratio` or `slope`."""
        return mean_effect([getattr(each, name) for each in self.fluctuations])


def run(plan: Plan) -> Result:
    """Follow gradient descent and SGD on random tables, and measure SGD's fluctuation.

    Parameters
    ----------
    plan
        the tables and the runs.

    Returns
    -------
    Result
        the approach of each run to W^mm and W*.

    Raises
    ------
    ValueError
        sizes at which hardly a table is separable.

    Notes
    -----
    With m = 8, V = 6, d = 9, ten tables and five seeds, 20 s for each million steps with B = 1.

    Examples
    --------
    >>> from ntpcompanion.experiments import stochastic_limits
    >>> sizes = {"num_contexts": 2, "vocab_size": 3, "support_size": 2, "dim": 3, "tables": 2}
    >>> rates = {"learning_rate": 0.2, "small_rate": 0.05, "large_rate": 1.0}
    >>> plan = stochastic_limits.Plan(**sizes, **rates, seeds=1, steps=10_000, seed=0)
    >>> found = stochastic_limits.run(plan)
    >>> bool(found.last("SGD, B = 1", "rest_distance").mean < 0.05)
    True
    """
    split = [
        _Split(table, svm, require_compatible(table).finite_part, split_bases(table).finite)
        for table, svm in solved_tables(plan, plan.num_contexts)
    ]
    paths = tuple(path for arm in ARMS for path in _descend(plan, arm, split))
    return Result(paths=paths, fluctuations=_fluctuations(plan, split))


class _Split(NamedTuple):
    table: ContextTable
    svm: Float[np.ndarray, "V d"]
    finite: Float[np.ndarray, "V d"]  # W*
    basis: Float[np.ndarray, "f V d"]  # of F


def solved_tables(plan: Sizes, num_contexts: int) -> list[Solved]:
    """The separable tables of a plan, with another number of contexts. Raises ValueError if hardly
    a table is separable.
    """
    return separable_tables(
        (num_contexts, plan.vocab_size, plan.support_size, plan.dim),
        plan.tables,
        lambda draw: stream(plan.seed, f"table {draw} of {num_contexts}"),
        tol=1e-10,
    )[0]


def _descend(plan: Plan, arm: str, split: list[_Split]) -> list[Path]:
    batch_size, rate, power, part = ARMS[arm]
    seeds, steps = 1 if batch_size is None else plan.seeds, plan.steps // part
    keep = (steps / 10 ** (np.arange(POINTS)[::-1] / 2)).round().astype(int).tolist()
    runs = [(i, seed) for i in range(len(split)) for seed in range(seeds)]
    weights = descend_many(
        [split[i].table for i, _ in runs],
        [stream(plan.seed, f"{arm} on {i}, {seed}") for i, seed in runs],
        learning_rate=getattr(plan, rate),
        batch_size=batch_size,
        steps=steps,
        keep=keep,
        power=power,
    )
    time = np.cumsum(getattr(plan, rate) * np.arange(1.0, steps + 1) ** -power)[np.array(keep) - 1]
    return [
        _path(arm, i, keep, np.log(time), weights[:, run], split[i])
        for run, (i, _) in enumerate(runs)
    ]


def _path(
    arm: str,
    index: int,
    steps: list[int],
    log_times: Float[np.ndarray, " n"],
    weights: Float[np.ndarray, "n V d"],
    split: _Split,
) -> Path:
    table, svm, finite, basis = split
    inside = np.tensordot(np.tensordot(weights, basis, ([1, 2], [1, 2])), basis, 1)
    rest, error = weights - inside, inside - finite
    offset = rest - log_times[:, None, None] * svm
    q = np.exp(table.embeddings @ weights.swapaxes(1, 2))
    off = np.where(table.support.toarray(), 0.0, q).sum(axis=2) / q.sum(axis=2)
    columns = {
        "distance": cosine_distance(weights, svm),
        "rest_distance": cosine_distance(rest, svm),
        "position": np.tensordot(rest, svm, 2) / np.vdot(svm, svm),
        "offset": np.linalg.norm(offset, axis=(1, 2)),
        "finite_error": np.linalg.norm(error, axis=(1, 2)),
        "off_support": off @ table.weight,
        "growth": 1 - cosine_distance(rest[WINDOW:] - rest[:-WINDOW], svm),
    }
    series = {name: tuple(column.tolist()) for name, column in columns.items()}
    return Path(arm=arm, table=index, steps=tuple(steps), **series)


def _fluctuations(plan: Plan, split: list[_Split]) -> tuple[Fluctuation, ...]:
    steps = plan.steps // 2
    keep = np.unique(np.linspace(steps // 2, steps, SNAPSHOTS).astype(int))
    runs = [(i, seed) for i in range(len(split)) for seed in range(plan.seeds)]
    weights = descend_many(
        [split[i].table for i, _ in runs],
        [stream(plan.seed, f"fluctuation on {i}, {seed}") for i, seed in runs],
        learning_rate=plan.small_rate,
        batch_size=SMALL_BATCH,
        steps=steps,
        keep=keep.tolist(),
        start=np.array([split[i].finite + FAR * split[i].svm for i, _ in runs]),
    ).reshape(len(keep), len(split), plan.seeds, *split[0].finite.shape)
    fluctuations = []
    for i, (table, _, finite, _) in enumerate(split):
        modes, curvature, variance = stationary_covariance(
            table, learning_rate=plan.small_rate, batch_size=SMALL_BATCH
        )
        forgotten = (1 - plan.small_rate * curvature) ** (2 * keep[:, None])
        along = np.tensordot(weights[:, i] - finite, modes, ([2, 3], [1, 2]))
        fluctuations.append(
            Fluctuation(
                curvature=tuple(curvature.tolist()),
                predicted=tuple((variance * (1 - forgotten)).mean(axis=0).tolist()),
                measured=tuple((along**2).mean(axis=(0, 1)).tolist()),
            )
        )
    return tuple(fluctuations)

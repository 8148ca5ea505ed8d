"""After how many strings does a new head count, on each network of zero loss?"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field, field_validator

from ntpcompanion.dyck import bracket_counting, solutions, wide_features
from ntpcompanion.dyck.bracket_counting import LearningCurve
from ntpcompanion.dyck.sentences import masked_support
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, estimate, mean_effect

SIZES = (1, 2, 4, 8, 16, 32, 64)  # strings
RATIOS = (0.5, 1, 1.5, 2, 3, 4)  # strings for each position of a long sentence
FEW = 32  # strings to which heads on long sentences are fitted as well
LEVEL = 0.1  # of the variance: error whose number of strings is asked for
WIDE = "random features"


class Plan(experiment.Plan):
    """One length that is enumerated, and longer ones for features of infinite width.

    `long_lengths` are even, as `length`.
    """

    length: Annotated[int, Field(ge=4, le=8, description="T of the enumerated strings, even")] = 6
    width: Annotated[int, Field(ge=256, description="random features")] = 1024
    draws: Annotated[int, Field(ge=80, description="samples of each size and network")] = 800
    feature_draws: Annotated[int, Field(ge=2, description="of the random features")] = 8
    long_lengths: Annotated[
        tuple[Annotated[int, Field(ge=4, le=160)], ...],
        Field(min_length=1, description="T of the long strings, even"),
    ] = (10, 20, 40, 80)
    long_draws: Annotated[int, Field(ge=4, description="samples of each size and long T")] = 40
    seed: Annotated[int, Field(ge=0, description="of features and samples")]

    @field_validator("length", "long_lengths")
    @classmethod
    def _even(cls, lengths: int | tuple[int, ...]) -> int | tuple[int, ...]:
        if np.any(np.array(lengths) % 2):
            raise ValueError(f"`length` and `long_lengths` must be even, got {lengths}.")
        return lengths


class Fitted(experiment.Result):
    """Heads that are fitted to so many strings."""

    solution: Annotated[str, Field(description="network below the head")]
    T: Annotated[int, Field(description="brackets")]
    sizes: Annotated[int, Field(description="n, strings")]
    error: Annotated[float, Field(description="mean over samples, fraction of the variance")]
    error_stderr: float
    exact: Annotated[float, Field(description="fraction of samples without error")]
    exact_stderr: float


class Result(experiment.Result):
    """The heads of all networks, sizes and lengths."""

    plan: Plan
    short: Annotated[tuple[Fitted, ...], Field(description="at the enumerated length")]
    long: Annotated[tuple[Fitted, ...], Field(description="features of infinite width, by T")]
    needed: Annotated[
        tuple[float, ...],
        Field(description="strings / T for an error of `LEVEL`, of each draw of the features"),
    ]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each network and size."""
        return table_of(self.short).drop(columns="T")

    @property
    def long_table(self) -> pd.DataFrame:
        """A row for each long length and size."""
        return table_of(self.long).drop(columns="solution")

    @property
    def curves(self) -> dict[str, LearningCurve]:
        """The learning curve of each network."""
        return {
            str(name): _curve(part) for name, part in self.table.groupby("solution", sort=False)
        }

    def errors(self, T: int) -> pd.DataFrame:
        """Errors of features of infinite width at a long length, a row for each of `RATIOS`."""
        return table_of(self._long_rows(T)[1:]).set_axis(list(RATIOS)).rename_axis("n / T")

    @property
    def expected(self) -> pd.DataFrame:
        """Of a head on counting neurons, by number of strings: its mean error, its probability to
        be exact, and the paper's bound on that.
        """
        T = self.plan.length
        rows = {
            n: (
                float(bracket_counting.expected_error(T, n)),
                float(bracket_counting.success_probability(T, n)),
                1 - 0.5**n,
            )
            for n in SIZES
        }
        return pd.DataFrame(rows, index=["error", "exact", "printed"]).T

    @property
    def gaps(self) -> Float[np.ndarray, " 64"]:
        """That probability less the paper's bound, for 1 to 64 strings."""
        exact = [bracket_counting.success_probability(self.plan.length, n) for n in range(1, 65)]
        return np.array([float(p - 1 + Fraction(1, 2**n)) for n, p in enumerate(exact, 1)])

    def error(self, solution: str, strings: int) -> Effect:
        """The error of heads on a network."""
        row = self._row(solution, strings)
        draws = self.plan.feature_draws if solution == WIDE else self.plan.draws
        return estimate(row.error, row.error_stderr, draws)

    @property
    def strings_needed(self) -> Effect:
        """Strings / T for an error of `LEVEL` on random features."""
        return mean_effect(np.array(self.needed))

    @property
    def worst_at_four(self) -> Effect:
        """The largest error of all long lengths at four strings for each position."""
        rows = [self._long_rows(T)[-1] for T in self.plan.long_lengths]
        return self._long(max(rows, key=lambda row: row.error))

    @property
    def few_strings(self) -> Effect:
        """The error at the largest length after `FEW` strings."""
        return self._long(self._long_rows(max(self.plan.long_lengths))[0])

    @property
    def over_limit(self) -> Effect:
        """The error at the largest length and two strings for each position, over its limit."""
        row = self._long_rows(max(self.plan.long_lengths))[1 + RATIOS.index(2)]
        return self._long(row, wide_features.limiting_error(2.0))

    @property
    def limit(self) -> pd.Series:
        """The error as T → ∞ by strings for each position."""
        grid = np.geomspace(0.1, 11, 200)
        return pd.Series([wide_features.limiting_error(ratio) for ratio in grid], grid)

    @property
    def limit_needed(self) -> float:
        """Strings / T for an error of `LEVEL` as T → ∞."""
        return _crossing(self.limit.to_numpy(), self.limit.index.to_numpy())

    @property
    def strings(self) -> pd.DataFrame:
        """For an error of `LEVEL`, random features by the limit and counting neurons, by even T."""
        lengths = np.arange(4, max(self.plan.long_lengths) + 1, 2)
        base = [float(bracket_counting.expected_error(int(T), 1)) for T in lengths]
        rows = {"features": self.limit_needed * lengths, "counting": np.log(LEVEL) / np.log(base)}
        return pd.DataFrame(rows, index=lengths)

    def long_strings(self, T: int) -> float:
        """Strings for an error of `LEVEL` at a long length."""
        return T * _crossing(self.errors(T).error.to_numpy(), np.array(RATIOS))

    def _row(self, solution: str, strings: int) -> Fitted:
        return next(one for one in self.short if (one.solution, one.sizes) == (solution, strings))

    def _long_rows(self, T: int) -> list[Fitted]:
        return [one for one in self.long if one.T == T]

    def _long(self, row: Fitted, level: float = 1.0) -> Effect:
        return estimate(row.error / level, row.error_stderr / level, self.plan.long_draws)


def run(plan: Plan) -> Result:
    """Fit heads of least norm to random strings, on networks of zero loss at one length and on
    random features of infinite width at longer ones; their errors are exact.

    Returns errors, and how often there is none, for each network and number of strings. Cost that
    of `learning_curve` and `wide_learning_curve`: 5 s for the chapter's plan.

    Examples
    --------
    >>> from ntpcompanion.experiments.flatness import head_samples
    >>> sizes = {"length": 4, "width": 256, "draws": 80, "feature_draws": 2}
    >>> plan = head_samples.Plan(**sizes, long_lengths=(4,), long_draws=4, seed=0)
    >>> result = head_samples.run(plan)
    >>> result.error("transferable", 64).mean < 1e-12 < result.error("memoriser", 8).mean
    True
    """
    pooled, needed = _random_features(plan)
    return Result(
        plan=plan,
        short=(*_solutions(plan), *pooled),
        long=tuple(row for T in plan.long_lengths for row in _long_rows(plan, T)),
        needed=needed,
    )


def _solutions(plan: Plan) -> Iterator[Fitted]:
    z = masked_support(plan.length, "fixed")[0].sum(1)
    networks = {
        "transferable": solutions.transferable(plan.length),
        "memoriser": solutions.memoriser(plan.length).parameters(z),
        "three neurons": solutions.three_neurons(plan.length, "fixed").parameters(z),
    }
    for name, theta in networks.items():
        rng = stream(plan.seed, f"samples {name}")
        curve = bracket_counting.learning_curve(theta, SIZES, plan.draws, rng)
        yield from _rows(name, plan.length, curve)


def _random_features(plan: Plan) -> tuple[list[Fitted], tuple[float, ...]]:
    rng, curves = stream(plan.seed, "samples random features"), []
    for _ in range(plan.feature_draws):
        drawn = solutions.random_features(plan.length, plan.width, rng)
        draws = plan.draws // plan.feature_draws
        curves.append(bracket_counting.learning_curve(drawn, SIZES, draws, rng))
    part = SIZES.index(FEW) + 1
    logs = [_crossing(curve.error[:part], np.log(SIZES[:part])) for curve in curves]
    rows = _rows(WIDE, plan.length, bracket_counting.pooled(curves))
    return list(rows), tuple(np.exp(logs) / plan.length)


def _long_rows(plan: Plan, T: int) -> Iterator[Fitted]:
    sizes = [FEW, *(np.array(RATIOS) * T).astype(int)]
    rng = stream(plan.seed, f"strings {T}")
    return _rows(WIDE, T, wide_features.wide_learning_curve(T, sizes, plan.long_draws, rng))


def _rows(solution: str, T: int, curve: LearningCurve) -> Iterator[Fitted]:
    for row in pd.DataFrame(vars(curve)).to_dict("records"):
        yield Fitted.model_validate({"solution": solution, "T": T} | row)


def _curve(rows: pd.DataFrame) -> LearningCurve:
    return LearningCurve(rows.sizes.to_numpy(), *rows.iloc[:, 2:].to_numpy().T)


def _crossing(errors: Float[np.ndarray, " k"], scale: Float[np.ndarray, " k"]) -> float:
    """Where falling errors reach `LEVEL`, between points of the scale in their logarithm."""
    return float(np.interp(-np.log(LEVEL), -np.log(errors), scale))

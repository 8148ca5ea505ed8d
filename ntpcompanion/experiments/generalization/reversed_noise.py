"""A linear classifier that generalizes and errs on all of its own sample with the noise reversed:
how well do its errors and margins follow the formulas?
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.generalization.uniform_convergence import (
    LinearProblem,
    margins,
    one_step,
    reverse_noise,
    tightest_uniform_bound,
)
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

SIZES, DELTAS = (2, 4, 6, 8, 10), (0.1, 0.3, 0.45)  # of the smallest example
LARGE_RATIO = 64  # from which the classifier errs on all of S′ and on none of S
Fraction = Annotated[float, Field(ge=0, le=1)]


class Plan(experiment.Plan):
    """Samples of the linear problem, with several numbers of noise coordinates for each point."""

    m: Annotated[int, Field(ge=2, description="points of a sample")]
    ratio: Annotated[int, Field(ge=LARGE_RATIO, description="D / m whose margins are kept")] = 128
    draws: Annotated[int, Field(ge=2, description="independent samples for each ratio")] = 40
    seed: Annotated[int, Field(ge=0, description="of the samples")]

    @property
    def ratios(self) -> list[int]:
        """D / m of all problems, rising."""
        return sorted({16, 64, self.ratio, 2 * self.ratio})

    def problem(self, ratio: int) -> LinearProblem:
        """With that many noise coordinates for each point."""
        return LinearProblem(self.m, ratio * self.m)


class Draw(experiment.Result):
    """The classifier of one sample S."""

    ratio: Annotated[int, Field(description="D / m")]
    test_error: Annotated[Fraction, Field(description="by the formula, given the weights")]
    margins: Annotated[
        tuple[tuple[float, ...], ...],
        Field(description="y wᵀx of each point of S, of a fresh sample, and of S′"),
    ]
    signal_error: Annotated[
        Fraction, Field(description="of its signal alone: the largest on fresh points, S, S′")
    ]


class Result(experiment.Result):
    """All classifiers, and the smallest example."""

    plan: Plan
    drawn: tuple[Draw, ...]
    bound_error: Annotated[
        float, Field(description="of the tightest bound of n points against 1 − 1/n, δ < 1/2")
    ]

    def margins(self, ratio: int) -> Float[np.ndarray, "draws 3 m"]:
        """On S, on a fresh sample and on S′, for each draw."""
        return np.array([one.margins for one in self.drawn if one.ratio == ratio])

    def test_errors(self, ratio: int) -> Float[np.ndarray, " draws"]:
        """The test error of each draw."""
        return np.array([one.test_error for one in self.drawn if one.ratio == ratio])

    @property
    def over_limit(self) -> Effect:
        """Test error over Q(√(D / 64 m)), less 1, mean over the ratios."""
        estimates = [
            self.test_errors(ratio) / self.plan.problem(ratio).limit_error - 1
            for ratio in self.plan.ratios
        ]
        return mean_effect(np.mean(estimates, axis=0))

    @property
    def clear_cut(self) -> float:
        """The fraction of points of S′ that are wrong, or of S that are right, the smallest of all
        ratios from `LARGE_RATIO` on.
        """
        margins = [self.margins(ratio) for ratio in self.plan.ratios if ratio >= LARGE_RATIO]
        wrong = [(one[:, 2] <= 0).mean() for one in margins]
        return float(min(wrong + [(one[:, 0] > 0).mean() for one in margins]))

    @property
    def signal_error(self) -> float:
        """The largest error of a classifier without its noise weights, at the plan's ratio."""
        return max(one.signal_error for one in self.drawn if one.ratio == self.plan.ratio)


def run(plan: Plan) -> Result:
    """Train linear classifiers by one step on independent samples, and judge each on its sample, on
    fresh points, and on its sample with the noise reversed.

    Returns margins and errors of each classifier. Cost O(m D) for each draw: 3 s for the chapter's
    160 draws.

    Examples
    --------
    >>> from ntpcompanion.experiments.generalization import reversed_noise
    >>> found = reversed_noise.run(reversed_noise.Plan(m=20, draws=3, seed=0))
    >>> found.clear_cut, found.signal_error
    (1.0, 0.0)
    """
    return Result(
        plan=plan,
        drawn=tuple(one for ratio in plan.ratios for one in _drawn(plan, ratio)),
        bound_error=max(abs(_bound(n, d) - (1 - 1 / n)) for n in SIZES for d in DELTAS),
    )


def _drawn(plan: Plan, ratio: int) -> Iterator[Draw]:
    problem = plan.problem(ratio)
    rng = stream(plan.seed, f"linear {problem.m} {problem.dim}")
    for _ in range(plan.draws):
        sample = problem.draw(rng)
        w = one_step(sample)
        signal = np.where(np.arange(len(w)) == 0, w, 0)
        three = (sample, problem.draw(rng), reverse_noise(sample))
        errors = [float(np.mean(margins(signal, one) <= 0)) for one in three]
        yield Draw(
            ratio=ratio,
            test_error=problem.test_error(w),
            margins=tuple(tuple(margins(w, one)) for one in three),
            signal_error=max(problem.test_error(signal), *errors),
        )


def _bound(n: int, delta: float) -> float:
    """Of n points in a row, where the classifier of each errs on its mirror image only."""
    gaps = np.abs(1 / n - np.eye(n)[::-1])
    return tightest_uniform_bound(gaps, np.full(n, 1 / n), delta)

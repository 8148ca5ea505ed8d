"""Effects of interventions, with their standard errors over seeds."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy import stats

from ntpcompanion.checks import Is, Shape, checked
from ntpcompanion.validation import as_array

CONFIDENCE = 0.95
SEVERAL = Is(
    lambda values: len(values) > 1, "hold at least two seeds", "One has no standard error."
)


@dataclass(frozen=True)
class Effect:
    """A mean over seeds. As a number it is the mean.

    Fields
    ------
    mean
        of one number for each seed, in the units of that number.
    stderr
        of the mean: `sd` over the root of `replicates`.
    replicates
        how many seeds.
    sd
        the standard deviation over seeds, with `replicates` - 1 degrees of freedom.
    """

    mean: float
    stderr: float
    replicates: int
    sd: float

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % interval of Student's t."""
        half = quantile_of_t(self.replicates) * self.stderr
        return self.mean - half, self.mean + half

    def __float__(self) -> float:
        return float(self.mean)

    def numbers(self, name: str) -> dict[str, float]:
        """What a text says of it: the mean under a name, the error as `NAME_error`, the ends of the
        interval as `NAME_low` and `NAME_high`.
        """
        low, high = self.interval
        ends = {f"{name}_error": self.stderr, f"{name}_low": low, f"{name}_high": high}
        return {name: self.mean, **ends}


@checked
def paired_effect(
    after: Annotated[ArrayLike, Shape("seeds"), SEVERAL],
    before: Annotated[ArrayLike, Shape("seeds")],
) -> Effect:
    """What an intervention changes, where each seed was run with and without it.

    The differences of the pairs are the replicates: what a seed does to both runs cancels.

    Parameters
    ----------
    after, before
        (seeds,): the same number with the intervention and without, in the same order of seeds.

    Returns
    -------
    Effect
        of `after - before`.

    Raises
    ------
    ValueError
        fewer than two seeds, different lengths, or a number that is not finite.

    Examples
    --------
    >>> from ntpcompanion.statistics import paired_effect
    >>> effect = paired_effect(after=[61, 64, 63, 66], before=[60, 62, 62, 64])
    >>> effect.mean, [round(end, 2) for end in effect.interval]
    (1.5, [0.58, 2.42])
    """
    return _over_seeds(as_array("after", after) - as_array("before", before))


@checked
def mean_effect(values: Annotated[ArrayLike, Shape("seeds"), SEVERAL]) -> Effect:
    """The mean of one number for each seed.

    Parameters
    ----------
    values
        (seeds,): the numbers, independent of each other.

    Returns
    -------
    Effect
        their mean, with its standard error.

    Raises
    ------
    ValueError
        fewer than two seeds, or a number that is not finite.

    Examples
    --------
    >>> from ntpcompanion.statistics import mean_effect
    >>> effect = mean_effect([1, 2, 1, 2])
    >>> effect.mean, round(effect.stderr, 3)
    (1.5, 0.289)
    """
    return _over_seeds(as_array("values", values))


def estimate(mean: float, stderr: float, replicates: int) -> Effect:
    """A number whose standard error is known already, as that of a limit or of a ratio."""
    return Effect(float(mean), float(stderr), replicates, float(stderr) * replicates**0.5)


@checked
def slope_within_seeds(
    x: Annotated[ArrayLike, Shape("seeds arms"), SEVERAL], y: ArrayLike
) -> Effect:
    """How fast y rises with x along the arms of one seed.

    A least-squares line with its own intercept is fitted to the arms of each seed, so that
    differences between seeds do not enter. The slopes of the seeds are the replicates; each seed
    has the same weight.

    Parameters
    ----------
    x, y
        (seeds, arms): both numbers for each arm of each seed, such as the logarithm of a trace and
        an accuracy in points.

    Returns
    -------
    Effect
        of the slope, in units of y per unit of x.

    Raises
    ------
    ValueError
        fewer than two seeds or arms, different shapes, a number that is not finite, or a seed whose
        x do not differ.

    Examples
    --------
    >>> from ntpcompanion.statistics import slope_within_seeds
    >>> slope_within_seeds(x=[[0, 1, 2], [0, 1, 2]], y=[[1, 2, 3], [50, 53, 56]]).mean
    2.0
    """
    return _over_seeds(slopes_of_seeds(x, y))


@checked
def slopes_of_seeds(
    x: Annotated[
        ArrayLike,
        Shape("seeds arms"),
        Is(lambda x: np.ptp(x, axis=1).all(), "differ between at least two arms of each seed"),
    ],
    y: Annotated[ArrayLike, Shape("seeds arms")],
) -> Float[np.ndarray, " seeds"]:
    """The slope of each seed in `slope_within_seeds`; a single seed is enough. Raises ValueError
    for a seed whose arms all have the same `x`.
    """
    across, up = as_array("x", x), as_array("y", y)
    centred = across - across.mean(1, keepdims=True)
    return np.asarray((centred * up).sum(1) / (centred**2).sum(1))


@checked
def crossed_effect(
    values: Annotated[
        ArrayLike,
        Shape("seeds suites"),
        Is(lambda x: min(np.shape(x)) > 1, "hold at least two seeds and two suites"),
    ],
) -> Effect:
    """The mean of a number of each seed that several test suites measure, for other seeds *and*
    suites.

    Its variance is the sum of those of the mean over seeds and of the mean over suites, which in
    expectation is at least that of the model seed + suite + error; as in Welch's test, degrees of
    freedom are Satterthwaite's.

    Parameters
    ----------
    values
        (seeds, suites): one number of each seed, such as a slope, as each suite measures it.

    Returns
    -------
    Effect
        whose `replicates` are the degrees of freedom, rounded down, plus one, and at most the
        larger number of seeds or suites.

    Raises
    ------
    ValueError
        fewer than two seeds or suites, or a number that is not finite.

    Examples
    --------
    >>> from ntpcompanion.statistics import crossed_effect
    >>> effect = crossed_effect([[1, 2], [2, 3], [0, 1], [1, 2]])
    >>> effect.mean, round(effect.stderr, 3), effect.replicates
    (1.5, 0.645, 3)
    """
    table = as_array("values", values)
    seeds, suites = table.shape
    parts = table.mean(1).var(ddof=1) / seeds, table.mean(0).var(ddof=1) / suites
    of_squares = parts[0] ** 2 / (seeds - 1) + parts[1] ** 2 / (suites - 1)
    freedom = sum(parts) ** 2 / of_squares if of_squares else min(seeds, suites) - 1
    replicates = min(int(freedom) + 1, max(seeds, suites))
    return estimate(table.mean(), sum(parts) ** 0.5, replicates)


def _over_seeds(values: np.ndarray) -> Effect:
    sd = float(values.std(ddof=1))
    return Effect(float(values.mean()), sd / len(values) ** 0.5, len(values), sd)


def quantile_of_t(seeds: int) -> float:
    """How many standard errors the 95 % interval of a mean over that many seeds reaches to either
    side.
    """
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, seeds - 1))

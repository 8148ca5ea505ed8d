"""Verdicts on an expected effect: how often a study ends in each, and how many seeds it takes."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Annotated, Literal

from scipy import stats

from ntpcompanion.checks import Is, Positive, Probability, Range, checked, need
from ntpcompanion.statistics.effects import quantile_of_t

Decision = Literal["supported", "refuted", "inconclusive"]
Seeds = Annotated[int, Range(2)]
Expected = Annotated[
    float,
    Is(
        bool,
        "not be 0",
        "Its sign is the direction that a paper states, its size the smallest effect of interest.",
    ),
]


@checked(need("low", "low <= high", "not lie above `high` = {high:g}"))
def verdict_on(low: float, high: float, delta: Expected) -> Decision:
    """The verdict of an interval on an expected effect of at least `delta`, the smallest effect of
    interest with the sign of the direction that a paper states.

    It is the one that a claim with `effect: delta` gets: supported if the whole interval has the
    sign of `delta` and at least its size, refuted if all of it falls short of `delta`, else
    inconclusive.

    Parameters
    ----------
    low, high
        the ends of the 95 % interval.
    delta
        in the units of the interval; not 0.

    Returns
    -------
    str
        "supported", "refuted" or "inconclusive".

    Raises
    ------
    ValueError
        `low` above `high`, `delta` 0, or a number that is not finite.

    Examples
    --------
    >>> from ntpcompanion.statistics import verdict_on
    >>> [verdict_on(*ends, delta=1.0) for ends in ((1.2, 2.0), (0.4, 0.8), (0.4, 2.0))]
    ['supported', 'refuted', 'inconclusive']
    """
    near, far = sorted(end * _direction(delta) for end in (low, high))
    if far < abs(delta):
        return "refuted"
    return "supported" if near >= abs(delta) else "inconclusive"


@dataclass(frozen=True)
class VerdictProbabilities:
    """How often a study with normal replicates ends in each verdict."""

    supported: float
    refuted: float
    inconclusive: float


@checked
def verdict_probabilities(
    sd: Positive, seeds: Seeds, effect: float, delta: Expected
) -> VerdictProbabilities:
    """How often a study ends in each verdict of `verdict_on`.

    The mean of n seeds, less δ and divided by its estimated standard error, has a noncentral t
    distribution with n - 1 degrees of freedom. A study supports where this number lies above the
    quantile of Student's t, and refutes where it lies below minus that quantile. For δ < 0 all
    signs change.

    Parameters
    ----------
    sd
        σ: the standard deviation of the replicates, such as paired differences or slopes.
    seeds
        n, at least 2.
    effect
        θ, in the units of `sd`.
    delta
        δ: the smallest effect of interest, with the sign of the direction that a paper states.

    Returns
    -------
    VerdictProbabilities
        of `supported`, `refuted` and `inconclusive`, which sum to 1.

    Raises
    ------
    ValueError
        an argument out of its range, or `delta` 0.

    Examples
    --------
    >>> from ntpcompanion.statistics import verdict_probabilities
    >>> round(verdict_probabilities(sd=1.0, seeds=8, effect=1.0, delta=1.0).supported, 3)
    0.025
    """
    above = effect * _direction(delta) - abs(delta)
    ratio = stats.nct(seeds - 1, above / (sd / seeds**0.5))
    quantile = quantile_of_t(seeds)
    supported, refuted = float(ratio.sf(quantile)), float(ratio.cdf(-quantile))
    return VerdictProbabilities(supported, refuted, max(0.0, 1 - supported - refuted))


def power(sd: float, seeds: int, effect: float, delta: float) -> float:
    """How often a study supports an expected effect of at least `delta`: see
    `verdict_probabilities`.
    """
    return verdict_probabilities(sd, seeds, effect, delta).supported


@checked
def seeds_needed(
    sd: Positive, delta: Expected, probability: Probability = 0.8, maximum: Seeds = 1000
) -> int:
    """The smallest number of seeds with which a study decides both ways.

    A true effect of 2δ is then supported, and an effect of 0 is refuted, each with at least the
    given probability.

    Parameters
    ----------
    sd
        the standard deviation of the replicates, from a pilot.
    delta
        the smallest effect of interest, in the units of `sd`.
    probability
        between 0 and 1.
    maximum
        the largest number that is tried.

    Returns
    -------
    int
        at least 2.

    Raises
    ------
    ValueError
        an argument out of its range, `delta` 0, or more than `maximum` seeds are needed.

    Examples
    --------
    >>> from ntpcompanion.statistics import seeds_needed
    >>> seeds_needed(sd=0.8, delta=1.0)
    8
    """
    # the probability rises with the number of seeds
    candidates = range(2, maximum + 1)
    index = bisect_left(candidates, probability, key=lambda seeds: _decides(sd, seeds, delta))
    if index == len(candidates):
        raise ValueError(
            f"`maximum` must be larger: {maximum} seeds with sd {sd:g} do not support an effect "
            f"of {2 * delta:g}, and refute one of 0, with probability {probability:g}."
        )
    return candidates[index]


def _decides(sd: float, seeds: int, delta: float) -> float:
    """The smaller of the probabilities that 2δ is supported and that 0 is refuted."""
    twice = verdict_probabilities(sd, seeds, 2 * delta, delta).supported
    return min(twice, verdict_probabilities(sd, seeds, 0.0, delta).refuted)


def _direction(delta: float) -> int:
    return 1 if delta > 0 else -1

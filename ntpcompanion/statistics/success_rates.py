"""The fraction of training seeds that succeed, and how well a few seeds determine it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

from scipy.stats import binomtest

from ntpcompanion.checks import Length, checked
from ntpcompanion.statistics.effects import CONFIDENCE


@dataclass(frozen=True)
class Successes:
    """How many of some independent runs succeed.

    Fields
    ------
    succeeded, replicates
        numbers of runs.
    """

    succeeded: int
    replicates: int

    @property
    def mean(self) -> float:
        """The mean of the fraction under Jeffreys' prior, (s + ½) / (n + 1). It is neither 0 nor 1,
        because a few runs cannot say that none fails.
        """
        return (self.succeeded + 0.5) / (self.replicates + 1)

    @property
    def stderr(self) -> float:
        """The standard deviation of the fraction under the same prior."""
        return float((self.mean * (1 - self.mean) / (self.replicates + 2)) ** 0.5)

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the exact 95 % interval (Clopper and Pearson)."""
        bounds = binomtest(self.succeeded, self.replicates).proportion_ci(CONFIDENCE, "exact")
        return float(bounds.low), float(bounds.high)


@checked
def count_successes(runs: Annotated[Collection[bool], Length(1)]) -> Successes:
    """Count the runs that succeed.

    Parameters
    ----------
    runs
        whether each of some independent runs succeeds.

    Returns
    -------
    Successes
        their number, the fraction with a standard error, and its exact interval.

    Raises
    ------
    ValueError
        no run, or an entry that is neither True nor False.

    Examples
    --------
    >>> from ntpcompanion.statistics import count_successes
    >>> found = count_successes([True, True, True, True, True])
    >>> round(found.mean, 2), [round(end, 2) for end in found.interval]
    (0.92, [0.48, 1.0])
    """
    return Successes(sum(map(bool, runs)), len(runs))

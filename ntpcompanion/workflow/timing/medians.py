"""What a handful of timings say: their median with an interval, and the exponent of a growth."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ntpcompanion.workflow.claims.intervals import CONFIDENCE, standard_errors


@dataclass(frozen=True)
class Estimate:
    """A number with its interval, and how many timings it rests on.

    `covers` is the probability with which such an interval covers the true number; that of a median
    of few timings, whose interval is their range, is below the one that was asked for.
    """

    value: float
    low: float
    high: float
    timings: int
    covers: float = CONFIDENCE


def median(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The median of independent timings, between two of them.

    The interval is that of the sign test: it holds for every distribution, whatever its tails. Of
    the pairs of order statistics that lie alike far from both ends it is the narrowest that covers
    the median with the probability `confidence`; where not even the range does, it is the range.

    Raises ValueError without values.
    """
    if not values:
        raise ValueError("`values` must hold at least one timing, got none.")
    ordered, n = sorted(values), len(values)
    skipped = 0  # timings outside of the interval at either end
    while skipped + 1 <= (n - 1) // 2 and _coverage(n, skipped + 1) >= confidence:
        skipped += 1
    low, high = ordered[skipped], ordered[n - 1 - skipped]
    return Estimate(statistics.median(ordered), low, high, n, _coverage(n, skipped))


def _coverage(n: int, skipped: int) -> float:
    """How often the median lies between the timings number `skipped` + 1 from both ends."""
    tail = sum(math.comb(n, k) for k in range(skipped + 1))
    return max(0.0, 1 - math.ldexp(tail, 1 - n))


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> Estimate:
    """The b of seconds = a sizeᵇ by least squares in logarithms, with Student's interval.

    The interval says how well one power describes these sizes, no more. Raises ValueError for fewer
    than three sizes, or sizes that are all equal.
    """
    if len(sizes) < 3 or len(set(sizes)) < 2:
        raise ValueError(f"`sizes` must hold three different sizes or more, got {list(sizes)}.")
    x, y = [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    slope, start = statistics.linear_regression(x, y)
    residual = sum((b - start - slope * a) ** 2 for a, b in zip(x, y, strict=True))
    spread = sum((a - statistics.fmean(x)) ** 2 for a in x)
    error = math.sqrt(residual / (len(x) - 2) / spread)
    width = standard_errors(len(x) - 2) * error
    return Estimate(slope, slope - width, slope + width, len(x))

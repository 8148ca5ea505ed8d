"""How sure a mean of few replicates is: Student's interval, and Welch's test between two of
them.
"""

from math import hypot

from ntpcompanion.workflow.claims.measurement import Measurement

CONFIDENCE = 0.95


def half_widths(item: Measurement) -> tuple[float, ...]:
    """Half the length of the 95 % interval around each value; 0 where it is exact.

    Student's t with `replicates` − 1 degrees of freedom: the interval covers the mean of normal
    replicates with exactly that probability, however few they are.
    """
    if item.exact:
        return item.errors
    factor = standard_errors(item.degrees_of_freedom)
    return tuple(factor * error for error in item.errors)


def standard_errors(degrees_of_freedom: float) -> float:
    """Half the length of a 95 % interval, in standard errors: a quantile of Student's t."""
    from scipy.special import stdtrit  # here: no command waits for it that judges nothing

    return float(stdtrit(degrees_of_freedom, (1 + CONFIDENCE) / 2))


def welch(one: Measurement, other: Measurement) -> tuple[float, ...]:
    """p-values of Welch's test, two-sided: how often two samples of one mean lie as far apart, for
    each value.

    At least one of the two has standard errors; the degrees of freedom are those of Welch and
    Satterthwaite.
    """
    triples = zip(one.values, one.errors, other.values, other.errors, strict=True)
    return tuple(_p_value(a, s, one, b, t, other) for a, s, b, t in triples)


def _p_value(a: float, s: float, one: Measurement, b: float, t: float, other: Measurement) -> float:
    from scipy.special import stdtr

    error = hypot(s, t)
    if not error:
        return float(a == b)
    # relative to the joint error: the squares of errors may be too small for a float
    parts = [((e / error) ** 4, m.degrees_of_freedom) for e, m in ((s, one), (t, other)) if e]
    freedom = 1 / sum(part / degrees for part, degrees in parts)
    return float(2 * stdtr(freedom, -abs(a - b) / error))

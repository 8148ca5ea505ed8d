"""Numbers of several builds: which of them moved further than chance, or their band, explains."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pandas as pd
from scipy.stats import t

from ntpcompanion.checks import Probability, checked

PLACE = ["claim", "place"]


def number_table(
    builds: Sequence[Mapping[str, Mapping[str, Sequence[Any]]]],
) -> pd.DataFrame:
    """The numbers of builds, those of a claim with several numbers by their place.

    Parameters
    ----------
    builds
        of each, below `claims`, a claim's value or values, standard errors, replicates and verdict.

    Returns
    -------
    pd.DataFrame
        columns claim, build, place, value, error, replicates and verdict; without the builds in
        which a claim had another number of numbers than in the last one.

    Examples
    --------
    >>> from ntpcompanion.statistics.build_drift import number_table
    >>> builds = [{"claims": {"one": [x, 0.1, 10, "supported"]}} for x in (1.0, 1.2)]
    >>> number_table(builds).value.tolist()
    [1.0, 1.2]
    """
    rows = [
        (name, number, place, value, error, replicates, verdict)
        for number, build in enumerate(builds)
        for name, (values, errors, replicates, verdict) in build["claims"].items()
        for values, errors in [np.broadcast_arrays(np.atleast_1d(values), errors)]
        for place, (value, error) in enumerate(zip(values, errors, strict=True))
    ]
    columns = ["claim", "build", "place", "value", "error", "replicates", "verdict"]
    numbers = pd.DataFrame(rows, columns=columns)
    size = numbers.groupby(["claim", "build"])["place"].transform("size")
    return numbers[size == size.groupby(numbers["claim"]).transform("last")]


@checked
def moved_numbers(
    numbers: pd.DataFrame,
    bands: Mapping[str, Mapping[str, float]],
    false_alarms: Annotated[float, Probability],
) -> pd.DataFrame:
    """Of each claim the number that spread most over the builds, and whether any of its numbers
    moved between two builds in a row: an exact one by more than its band, a random one by more than
    Welch's test allows.

    Parameters
    ----------
    numbers
        as by `number_table`.
    bands
        of a claim, `relative` and `absolute`; 0 where there is none.
    false_alarms
        the probability that any random number of the last build is said to have moved by chance.

    Returns
    -------
    pd.DataFrame
        columns first, last, min, max, size and moved; its index is claim and place.

    Raises
    ------
    ValueError
        `false_alarms` outside 0 … 1.

    Examples
    --------
    >>> from ntpcompanion.statistics.build_drift import moved_numbers, number_table
    >>> builds = [{"claims": {"one": [x, 0.1, 10, "supported"]}} for x in (1.0, 1.2, 9.0)]
    >>> moved_numbers(number_table(builds), {}, 0.001).moved.tolist()
    [True]
    """
    old = numbers.groupby(PLACE)[["value", "error", "replicates"]].shift()
    steps = numbers.merge(old, left_index=True, right_index=True, suffixes=("", "_old"))
    steps = steps.dropna(subset="value_old")
    difference = (steps["value"] - steps["value_old"]).abs()
    both = pd.Series(np.hypot(steps["error"], steps["error_old"]))
    parts = [
        ((steps[f"error{side}"] / both) ** 4 / (steps[f"replicates{side}"] - 1)).fillna(0.0)
        for side in ("", "_old")
    ]
    p = 2 * t.sf(difference / both.where(both > 0), 1 / sum(parts))
    allowed = pd.DataFrame.from_dict(
        {name: bands.get(name, {}) for name in steps["claim"]}, "index"
    )
    allowed = allowed.reindex(columns=["relative", "absolute"]).fillna(0.0).loc[steps["claim"]]
    relative = allowed["relative"].to_numpy() * steps["value_old"].abs()
    width = np.maximum(allowed["absolute"].to_numpy(), relative)
    last = numbers["build"].max()
    random = (numbers["build"] == last) & (numbers["error"] > 0)
    level = false_alarms / max(1, random.sum() * last)
    steps["moved"] = np.where(both > 0, p < level, difference > width)
    courses = numbers.groupby(PLACE)["value"].agg(["first", "last", "min", "max", "size"])
    courses["moved"] = steps.groupby(PLACE)["moved"].any()
    courses["moved"] = courses["moved"].fillna(False).astype(bool)
    widest = (courses["max"] - courses["min"]).groupby("claim").idxmax()
    moved = courses["moved"].groupby("claim").any().to_numpy()
    return courses.loc[widest].assign(moved=moved)

"""Numbers of several builds: which of them moved further than chance, or their band, explains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import pandas as pd
from scipy.stats import t

from ntpcompanion.checks import Probability, checked

PLACE = ["claim", "place"]


def number_table(
    builds: Sequence[Mapping[str, Mapping[str, Sequence[Any]]]],
) -> pd.DataFrame:
    """The numbers of builds, those of a claim with several by their place; below `claims` a build
    has value, standard error, replicates and verdict. Left out: builds in which a claim had another
    number of numbers than in the last.
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
    """Of each claim the number of `number_table` that spread most over the builds, and whether any
    moved between two builds in a row: an exact one by more than its band, a random one by more than
    Welch's test allows, so that any of the last build is a false alarm with probability
    `false_alarms`. Raises ValueError outside of 0 … 1.
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


@dataclass(frozen=True, eq=False)
class BuildHistory:
    """Numbers of the claims of today over all builds.

    Fields
    ------
    builds
        as for `number_table`, each with its date, commit, machine, profile and versions.
    claims
        by id, with `notebook`, `locator` and perhaps `band`.
    false_alarms
        as for `moved_numbers`.

    Examples
    --------
    >>> from ntpcompanion.statistics import BuildHistory
    >>> builds = [{"claims": {"one": [x, 0.1, 10, "supported"]}} for x in (1.0, 1.2)]
    >>> BuildHistory(builds, {"one": {}}, 0.01).numbers.value.tolist()
    [1.0, 1.2]
    """

    builds: Sequence[Mapping[str, Any]]
    claims: Mapping[str, Mapping[str, Any]]
    false_alarms: float

    @property
    def build_table(self) -> pd.DataFrame:
        """A row for each build, with the version of Python and of what was ever another."""
        table = pd.DataFrame(list(self.builds))[["date", "commit", "machine", "profile"]]
        table["date"] = table["date"].str[:10]
        versions = pd.DataFrame([build["versions"] for build in self.builds])
        several = {"python", *versions.columns[versions.nunique() > 1]}
        return table.join(versions[[name for name in versions if name in several]])

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """As `number_table`, of the claims."""
        numbers = number_table(self.builds)
        return numbers[numbers["claim"].isin([*self.claims])]

    @cached_property
    def courses(self) -> pd.DataFrame:
        """As `moved_numbers`, with `chapter`, `locator` and `place` counted from 1."""
        bands = {name: claim.get("band", {}) for name, claim in self.claims.items()}
        courses = moved_numbers(self.numbers, bands, self.false_alarms)
        claims = [self.claims[name] for name, _ in courses.index]
        courses["chapter"] = [claim["notebook"] for claim in claims]
        courses["locator"] = [claim["locator"] for claim in claims]
        return courses.reset_index().assign(place=lambda frame: frame["place"] + 1)

    @property
    def moved(self) -> pd.DataFrame:
        """The courses that moved."""
        return self.courses[self.courses["moved"]]

    @property
    def moved_table(self) -> pd.DataFrame:
        """The same for readers."""
        columns = {"claim": "claim", "locator": "where", "place": "value number"}
        columns |= {"first": "first", "last": "last", "min": "least", "max": "most"}
        columns |= {"size": "builds"}
        return self.moved[[*columns]].rename(columns=columns).reset_index(drop=True)

    @property
    def still_table(self) -> pd.DataFrame:
        """How many claims of each chapter did not move."""
        still = self.courses[~self.courses["moved"]].groupby("chapter", sort=False)
        return still.size().rename("claims that did not move").reset_index()

    def deviations(self) -> dict[str, pd.Series]:
        """For each number that moved, by build: its distance from the first one over the largest
        distance.
        """
        deviations = {}
        for claim, place in zip(self.moved["claim"], self.moved["place"] - 1, strict=True):
            course = self.numbers[
                (self.numbers["claim"] == claim) & (self.numbers["place"] == place)
            ]
            away = course.set_index("build")["value"] - course["value"].iloc[0]
            deviations[claim] = away / away.abs().max()
        return deviations

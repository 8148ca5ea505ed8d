"""Recorded benchmarks: ratios to other programs, growth with size, goals, and other machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import linregress, quantile_test


def median_interval(values: ArrayLike) -> pd.Series:
    """The `median` with the ends `low` and `high` of its 95 % interval; with fewer than six values
    their range.

    Examples
    --------
    >>> from ntpcompanion.statistics.timings import median_interval
    >>> median_interval([3.0, 1.0, 2.0]).to_dict()
    {'median': 2.0, 'low': 1.0, 'high': 3.0}
    """
    x = np.asarray(values, float)
    low, high = quantile_test(x, p=0.5).confidence_interval(0.95)
    ends = x.min() if np.isnan(low) else low, x.max() if np.isnan(high) else high
    return pd.Series([np.median(x), *ends], index=["median", "low", "high"])


def _timings(outcome: Mapping[str, Any]) -> list[float]:
    """Of a pair our seconds, of a growth those at the largest size, of an amount its values."""
    kind = outcome["kind"]
    if kind == "growth":
        return list(outcome["seconds"][-1])
    names = {"pair": "our_seconds", "amount": "values"}
    return list(outcome[names[kind]]) if kind in names else [np.nan]


@dataclass(frozen=True, eq=False)
class Benchmarks:
    """Runs of the benchmarks, as files of `make bench`.

    Fields
    ------
    runs
        from the oldest to the newest; the newest of those with most entries is the main one.
    slowest
        a benchmark that busy processes slow by more than this times their share has a defect.

    Examples
    --------
    >>> from ntpcompanion.statistics import Benchmarks
    >>> seconds = {"kind": "amount", "values": [1.0, 3.0]}
    >>> entry = {"name": "one", "busy": 0, "outcome": seconds}
    >>> Benchmarks([{"entries": [entry]}]).quiet.timings["one"]
    [1.0, 3.0]
    """

    runs: Sequence[Mapping[str, Any]]
    slowest: float = 5.0

    @cached_property
    def entries(self) -> pd.DataFrame:
        """A row for each entry of each `run`, with the fields of its outcome and its `timings`."""
        return pd.DataFrame(
            {"run": number, **entry, **entry["outcome"], "timings": _timings(entry["outcome"])}
            for number, run in enumerate(self.runs)
            for entry in run["entries"]
        )

    @cached_property
    def number(self) -> int:
        """Of the main run."""
        return int(self.entries["run"].mode().max())

    @property
    def main(self) -> pd.DataFrame:
        """The entries of the main run."""
        return self.entries[self.entries["run"] == self.number]

    @property
    def quiet(self) -> pd.DataFrame:
        """Those without other processes, by name."""
        return self.main[self.main["busy"] == 0].set_index("name")

    @property
    def busy(self) -> pd.DataFrame:
        """Those beside busy processes, by name."""
        return self.main[self.main["busy"] > 0].set_index("name")

    @property
    def loads(self) -> np.ndarray:
        """Of the machine while the quiet entries ran."""
        return np.concatenate(self.quiet["load"].tolist())

    @property
    def machine(self) -> pd.DataFrame:
        """One row that says where, when and with which commits the main run was made."""
        run = self.runs[self.number]
        row = {
            "processor": run["hardware"]["processor"],
            "cores": run["hardware"]["cores"],
            "memory (GiB)": run["hardware"]["memory_gib"],
            "date": run["started"][:10],
            "Python": run["versions"]["python"],
            "commits": ", ".join(self.quiet["commit"].unique()),
        }
        return pd.DataFrame([row])

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Quiet comparisons with a peer, how many times as fast, as of `median_interval`, and
        `beside` busy processes. Bounds, whose goal is below 1, come first, then rivals; in both the
        slowest first.
        """
        pairs = self.quiet.join(_ratios(self.quiet), how="inner").sort_values("median")
        pairs["beside"] = _ratios(self.busy)["median"]
        bound = pairs["at_least"] < 1
        return pd.concat([pairs[bound], pairs[~bound]])

    @property
    def rivals(self) -> pd.DataFrame:
        """The pairs that are to be outrun."""
        return self.pairs[~(self.pairs["at_least"] < 1)]

    @property
    def peers(self) -> pd.Series:
        """Labels of the pairs, the peer without its remark in brackets where that is enough, with a
        number where several have one peer.
        """
        peer = self.pairs["peer"]
        short = peer.str.replace(r" \(.*", "", regex=True)
        labels = peer.where(short.duplicated(keep=False), short)
        meeting = (self.pairs.groupby("peer").cumcount() + 1).astype(str)
        return labels.where(~labels.duplicated(keep=False), labels + ", " + meeting)

    @property
    def ratio_table(self) -> pd.DataFrame:
        """The pairs for readers, the fastest first."""
        columns = {"title": "what", "peer": "against", "median": "ratio", "low": "from"}
        columns |= {"high": "to", "beside": "busy", "at_least": "goal"}
        return _shown(self.pairs[::-1], columns)

    @cached_property
    def growths(self) -> pd.DataFrame:
        """Quiet growths with a size, the `middle` seconds at each of the `sizes`, and the
        `exponent` of the fitted power with its standard `error`.
        """
        rows = self.quiet[self.quiet["kind"] == "growth"].copy()
        rows["middle"] = [[np.median(x) for x in each] for each in rows["seconds"]]
        each = zip(rows["sizes"], rows["middle"], strict=True)
        fits = [linregress(np.log(sizes), np.log(seconds)) for sizes, seconds in each]
        return rows.assign(exponent=[f.slope for f in fits], error=[f.stderr for f in fits])

    @property
    def growth_table(self) -> pd.DataFrame:
        """The exponents for readers, with the column `error`."""
        columns = {"title": "what", "variable": "size", "exponent": "exponent", "error": "error"}
        return _shown(self.growths, {**columns, "ideal": "ideal"})

    @property
    def sizes(self) -> pd.DataFrame:
        """A row for each size of each growth, with its seconds."""
        columns = ["title", "variable", "sizes", "middle"]
        return self.growths[columns].explode(columns[2:]).rename(columns={"middle": "seconds"})

    @cached_property
    def costs(self) -> pd.DataFrame:
        """All quiet entries in their `unit`, as of `median_interval`; `beside` busy processes, and
        where the unit is a second how many times `slower` there.
        """
        costs = self.quiet.join(_medians(self.quiet["timings"]))
        costs["beside"] = _medians(self.busy["timings"])["median"]
        costs["unit"] = costs["unit"].fillna("s")
        slower = costs["beside"] / costs["median"]
        return costs.assign(slower=slower.where(costs["unit"] == "s"))

    @property
    def _named(self) -> pd.Series:
        return self.costs["title"] + ("; against " + self.costs["peer"]).fillna("")

    @property
    def seconds(self) -> pd.DataFrame:
        """The costs by `part` of the package, with goals and notes."""
        columns = ["part", "title", "median", "unit", "beside", "slower"]
        columns += ["low", "high", "at_most", "at_least", "note"]
        costs = self.costs.assign(title=self._named).sort_values("part", kind="stable")
        return costs[columns].reset_index(drop=True)

    @property
    def seconds_table(self) -> pd.DataFrame:
        """The same for readers, without what stands in the file only."""
        columns = {"title": "what", "median": "quiet", "unit": "unit"}
        return _shown(self.seconds, {**columns, "beside": "busy", "slower": "ratio"})

    @property
    def goals(self) -> pd.Series:
        """Whether each cost meets its goal, by its amount, or the ratio of a pair."""
        costs, limits = self.costs, self.costs[["at_most", "at_least"]].apply(pd.to_numeric)
        value = costs["median"].where(costs["kind"] == "amount", self.pairs["median"])
        missed = value.isna() | (value > limits["at_most"]) | (value < limits["at_least"])
        return ~missed[limits.notna().any(axis=1)]

    @property
    def findings(self) -> pd.DataFrame:
        """What is wrong, a row for each missed goal, each entry that busy processes slow by more
        than `slowest` times their share of the cores, and each that failed.
        """
        busy, cores = self.busy, self.runs[self.number]["hardware"]["cores"]
        load = ((busy["busy"] + busy["threads"]) / cores).clip(lower=1)
        starved = self.costs["slower"] > self.slowest * load.reindex(self.costs.index)
        failed = self.main[self.main["kind"] == "failed"]
        errors: Any = failed["title"] + ": " + failed["error"] if len(failed) else []
        findings = {
            "missed its goal": self._named[self.goals[~self.goals].index],
            "slowed by busy processes more than their share explains": self._named[starved],
            "gave no number": errors,
        }
        rows = [(word, title) for word, titles in findings.items() for title in titles]
        return pd.DataFrame(rows, columns=["finding", "what"])

    @property
    def other_table(self) -> pd.DataFrame:
        """The entries of other machines for readers."""
        others = self.entries[self.entries["run"] != self.number].copy()
        machines = [run["hardware"] for run in self.runs]
        names = [f"{each['processor']} {each.get('gpu') or ''}" for each in machines]
        others["machine"] = others["run"].map(dict(enumerate(names)))
        others["seconds"] = _medians(others["timings"])["median"]
        each = zip(others["our_seconds"], others["peer_seconds"], strict=True)
        others["ratio"] = [
            np.median(np.divide(theirs, ours)) if isinstance(ours, list) else None
            for ours, theirs in each
        ]
        columns = {"machine": "machine", "title": "what", "peer": "against"}
        columns |= {"ratio": "times as fast", "seconds": "ours", "unit": "unit", "note": "note"}
        return _shown(others, columns)


def _ratios(entries: pd.DataFrame) -> pd.DataFrame:
    rows = entries[entries["kind"] == "pair"]
    each = zip(rows["peer_seconds"], rows["our_seconds"], strict=True)
    return _medians(pd.Series([np.divide(*pair) for pair in each], rows.index, dtype=object))


def _medians(values: pd.Series) -> pd.DataFrame:
    """`median_interval` of each list of values, a row for each; no rows for none."""
    columns = ["median", "low", "high"]
    return pd.DataFrame([median_interval(each) for each in values], values.index, columns)


def _shown(table: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    return table[[*columns]].rename(columns=columns).reset_index(drop=True)

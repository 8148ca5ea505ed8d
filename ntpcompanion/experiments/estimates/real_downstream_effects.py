"""Networks on a real model's language at one loss: what a trace, or width, is worth downstream."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logit

from ntpcompanion.experiments.estimates.held_effects import OWN_PROBES
from ntpcompanion.experiments.estimates.recorded_studies import keyed
from ntpcompanion.experiments.estimates.trace_effects import PRINTED_LOG_ODDS, PROBES
from ntpcompanion.experiments.real_model.real_downstream import Plan, Result
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.experiments.same_loss import downstream
from ntpcompanion.experiments.same_loss.recorded_study import TRACES, study_table
from ntpcompanion.experiments.same_loss.study_effects import with_interval
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect, slope_within_seeds

ACCURACIES = PROBES | OWN_PROBES
# columns of `RealDownstreamEffects.by_probe`, and what readers see above them
EFFECTS = {
    "slope": "one loss",
    "ends": "flatter and sharper alone",
    "median": "by the median input",
    "after": "same steps",
    "first": "first run",
    "wider": "twice the width",
    "halved": "half of the loss",
}


def network_table(runs: Sequence[Run[Plan, Result]]) -> pd.DataFrame:
    """A row for each network of runs in one language: as `study_table`, its strength under
    `change`, with the columns steps, function, median and largest, and `suite`, the seed of its
    suite; networks that differ in their steps only stay apart.
    """
    gap = runs[0].result.gaps.learnable_gap
    suites = [run.plan.suite_seed for run in runs for _ in run.result.networks]
    networks = [network for run in runs for network in run.result.networks]
    models = [
        study_table([downstream.Result(models=(one.model,), references={}, device="cpu")], gap)
        for one in networks
    ]
    beside = table_of(networks).drop(columns="model").astype(float)
    table = pd.concat([pd.concat(models, ignore_index=True), beside], axis=1)
    return table.rename(columns={"strength": "change"}).astype({"steps": int}).assign(suite=suites)


def at_one_loss(table: pd.DataFrame, arm: str) -> pd.DataFrame:
    """Each seed's networks where their losses are equal: a row for each seed and value of `arm`.

    The level of a seed is the largest of the smallest losses that its arms reach. Between two
    trainings whose losses enclose it, logarithms of traces and accuracies are interpolated
    linearly in the logarithm of the loss.

    Parameters
    ----------
    table
        of `network_table`; in each arm of each seed longer trainings have smaller losses.
    arm
        the column that distinguishes arms, such as "change" or "width".

    Returns
    -------
    DataFrame
        `arm`, seed, share, traces and accuracies; and `between`, where the level lies between the
        two trainings: 0 at the longer one, 1 at the shorter one.

    Raises
    ------
    ValueError
        an arm of one training, or whose losses lie all below the level of its seed.

    Examples
    --------
    >>> import pandas as pd
    >>> from ntpcompanion.experiments.estimates.real_downstream_effects import at_one_loss
    >>> table = pd.DataFrame({
    ...     "change": [0, 0, 1, 1], "seed": 0, "share": [4.0, 1.0, 8.0, 2.0],
    ...     "trace": [10.0, 10.0, 20.0, 20.0], "projected": [60.0, 62.0, 50.0, 55.0],
    ... })
    >>> at_one_loss(table, "change")[["change", "share", "projected"]].values.tolist()
    [[0.0, 2.0, 61.0], [1.0, 2.0, 55.0]]
    """
    columns = [name for name in (*TRACES, *ACCURACIES) if name in table]
    rows = []
    for seed, group in table.groupby("seed"):
        level = group.groupby(arm).share.min().max()
        for value, networks in group.groupby(arm):
            ordered = networks.sort_values("share")
            if len(ordered) < 2:
                raise ValueError(
                    f"`table` must have two trainings for `{arm}` = {value} of seed {seed}, got 1."
                )
            if ordered.share.iloc[-1] < level:
                raise ValueError(
                    f"`table`: the losses with `{arm}` = {value} of seed {seed} are at most "
                    f"{ordered.share.iloc[-1]:.2f} % of the gap, and another arm reaches no less "
                    f"than {level:.2f}. Train it for fewer steps as well."
                )
            x = np.log(ordered.share.to_numpy())
            behind = min(max(int(np.searchsorted(x, np.log(level))), 1), len(x) - 1)
            between = (np.log(level) - x[behind - 1]) / (x[behind] - x[behind - 1])
            row = {arm: value, "seed": seed, "share": level, "between": between}
            for name in columns:
                y = ordered[name].to_numpy(float)[behind - 1 : behind + 1]
                y = np.log(y) if name in TRACES else y
                mean = (1 - between) * y[0] + between * y[1]
                row[name] = np.exp(mean) if name in TRACES else mean
            rows.append(row)
    return pd.DataFrame(rows)


def worth_of_half(networks: pd.DataFrame, probe: str) -> Effect:
    """Points that half of the excess loss is worth where nothing holds the trace: networks after
    pre-training of several lengths, within seeds.
    """
    x, y = (networks.pivot(index="seed", columns="steps", values=name) for name in ("share", probe))
    return slope_within_seeds(-np.log2(x), y)


@dataclass(frozen=True, eq=False)
class RealDownstreamEffects:
    """Estimates over seeds.

    Fields
    ------
    first, again
        runs of `real_downstream` with narrow networks that are held at several traces: the first
        ones, and those of other seeds, another test set and other examples.
    wide
        runs with the seeds and examples of the first ones, and wider networks.
    """

    first: Sequence[Run[Plan, Result]]
    again: Sequence[Run[Plan, Result]]
    wide: Sequence[Run[Plan, Result]]

    @property
    def result(self) -> Result:
        """With the language, which all runs share, and the references of the first run's task."""
        return self.first[0].result

    @cached_property
    def table(self) -> pd.DataFrame:
        """All networks; the `suite` of the second run is 1, and of the others 0."""
        return network_table([*self.first, *self.wide, *self.again])

    def of(self, kind: str, suite: int = 0) -> pd.DataFrame:
        """The networks of a kind, of the runs with one suite of examples."""
        return self.table[(self.table.kind == kind) & (self.table.suite == suite)]

    @property
    def widths(self) -> tuple[int, int]:
        """The smaller and the larger one."""
        small, large = sorted(self.table.width.unique())
        return int(small), int(large)

    @cached_property
    def traces(self) -> pd.DataFrame:
        """The second run's networks at several traces, at one loss."""
        return at_one_loss(self.of("held", suite=1), "change")

    @cached_property
    def first_traces(self) -> pd.DataFrame:
        """The first run's without the controls, some of which end below the level at every length
        of their pre-training.
        """
        held = self.of("held")
        return at_one_loss(held[held.change != 0], "change")

    @cached_property
    def sizes(self) -> pd.DataFrame:
        """Networks of two widths that only the loss has trained, at one loss."""
        return at_one_loss(self.of("pretrained"), "width")

    @cached_property
    def longest(self) -> pd.DataFrame:
        """The second run's networks at several traces after the longest pre-training, whose losses
        are not equal.
        """
        return self.of("held", suite=1).query("steps == steps.max()")

    @property
    def trained(self) -> pd.DataFrame:
        """The first run's networks after the longest pre-training, not held at a trace."""
        return self.of("pretrained").query("width == width.min()").query("steps == steps.max()")

    @property
    def ends(self) -> pd.DataFrame:
        """The second run's networks at one loss without the controls, which reach it sooner."""
        return self.traces[self.traces.change != 0]

    def slope(
        self,
        probe: str,
        traces: pd.DataFrame | None = None,
        trace: str = "function",
        *,
        odds: bool = False,
    ) -> Effect:
        """Points, or `odds`: log-odds, for each e-fold of a trace, within seeds, of `traces`, by
        default those of the second run at one loss.
        """
        rows = self.traces if traces is None else traces
        x, y = (rows.pivot(index="seed", columns="change", values=name) for name in (trace, probe))
        return slope_within_seeds(np.log(x), logit(y / 100) if odds else y)

    def wider(self, column: str, sizes: pd.DataFrame | None = None) -> Effect:
        """What the larger width changes: points, or e-folds of a trace; by default at one loss."""
        rows = self.sizes if sizes is None else sizes
        values = rows.pivot(index="seed", columns="width", values=column)
        small, large = (values[width].to_numpy(float) for width in self.widths)
        if column in TRACES:
            small, large = np.log(small), np.log(large)
        return paired_effect(large, small)

    def halved(self, probe: str) -> Effect:
        """`worth_of_half` for the second run's networks."""
        return worth_of_half(self.of("pretrained", suite=1), probe)

    def beyond_table(self, probe: str = "full") -> Effect:
        """Points by which a probe of the first run's longest-trained networks leads the same probe
        on the logarithms of the exact conditional distributions.
        """
        return mean_effect(self.trained[probe] - 100 * self.result.columns["log Pr"])

    def trace_change(self, side: Callable[[pd.Series], float]) -> Effect:
        """By how many e-folds the trace of the function differs at one loss from the control of the
        seed, for the smallest or largest change (`side` is min or max).
        """
        values = self.traces.set_index(["change", "seed"]).function
        return paired_effect(*(np.log(values[end]) for end in (side(self.traces.change), 0.0)))

    @property
    def summary(self) -> dict[str, Any]:
        """Numbers of the text, on the language, the losses at which networks are compared, how far
        their traces are apart, and what the task needs.
        """
        result, language = self.result, self.first[0].plan.language
        untrained = self.of("untrained")
        narrow = untrained[untrained.width == self.widths[0]]
        return {
            "first_text": language.texts[0],
            "words": language.words,
            "sentences": language.words * language.beginnings,
            "coverage": 100 * result.coverage,
            "floor": result.gaps.floor,
            "position": result.gaps.position,
            "gap": result.gaps.learnable_gap,
            "neighbours": result.gaps.neighbours_gap,
            "bayes": 100 * result.bayes,
            "chance": 100 * result.chance,
            "table_accuracy": 100 * result.columns["Pr"],
            "log_accuracy": 100 * result.columns["log Pr"],
            "words_accuracy": 100 * result.columns["words"],
            "full_accuracy": self.trained.full.mean(),
            "end_level": self.trained.share.mean(),
            "end_nats": self.trained.excess.mean(),
            "untrained": narrow.projected.mean(),
            "pretrained": self.trained.projected.mean(),
            "flat": with_interval(self.trace_change(min)),
            "sharp": with_interval(self.trace_change(max)),
            "untrained_wider": with_interval(self.wider("full", untrained)),
            "held_level": self.traces.share.mean(),
            "width_level": self.sizes.share.mean(),
            "width_trace": with_interval(self.wider("trace")),
            "width_balanced": with_interval(self.wider("balanced")),
            "odds_fifth": PRINTED_LOG_ODDS / 5,
            **{
                f"odds_{name}": with_interval(self.slope(name, self.ends, odds=True), 3)
                for name in ACCURACIES
            },
            **keyed(self.by_probe.map(with_interval).T, {name: f"{name}_" for name in EFFECTS}),
        }

    @property
    def learning_table(self) -> pd.DataFrame:
        """Mean loss, traces and accuracies of the first run and of wider networks, a row for each
        width and number of steps of the pre-training.
        """
        rows = self.table[(self.table.kind != "held") & (self.table.suite == 0)]
        names = ["share", "trace", "balanced", *ACCURACIES]
        means = rows.groupby(["width", "steps"])[names].mean().reset_index()
        words = {"share": "loss (% of gap)", "trace": "plain trace", "balanced": "balanced trace"}
        return means.rename(columns={**words, **ACCURACIES})

    @cached_property
    def by_probe(self) -> pd.DataFrame:
        """An effect in points for each probe and of each of EFFECTS: slopes in the trace at one
        loss, of all and without the controls, in that of the median input, after the same steps and
        of the first run; the larger width; half of the excess.
        """
        effects = {
            name: (
                self.slope(name),
                self.slope(name, self.ends),
                self.slope(name, trace="median"),
                self.slope(name, self.longest),
                self.slope(name, self.first_traces),
                self.wider(name),
                self.halved(name),
            )
            for name in ACCURACIES
        }
        return pd.DataFrame.from_dict(effects, orient="index", columns=[*EFFECTS])

    @property
    def slope_table(self) -> pd.DataFrame:
        """`by_probe` for readers, with 95 % intervals."""
        shown = self.by_probe.map(with_interval).rename(index=ACCURACIES, columns=EFFECTS)
        return shown.rename_axis("probe").reset_index()

    @property
    def plane(self) -> pd.DataFrame:
        """For `draw_trace_plane`: each of the second run's networks at one loss against the control
        of its seed.
        """
        control = self.traces[self.traces.change == 0].set_index("seed")
        rows = self.traces[self.traces.change != 0].set_index("seed")
        origin = control.loc[rows.index]
        return pd.DataFrame(
            {
                "log_trace": np.log(rows.function / origin.function),
                "points": rows.projected - origin.projected,
                "kind": "held",
                "strength": rows.change,
            }
        ).reset_index()

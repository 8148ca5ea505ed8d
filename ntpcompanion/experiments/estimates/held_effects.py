"""Features of networks that were held at chosen traces, at one loss and after the same steps."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ntpcompanion.experiments.estimates.recorded_studies import RecordedStudies
from ntpcompanion.experiments.estimates.trace_effects import PROBES
from ntpcompanion.experiments.same_loss.held_traces import held_study
from ntpcompanion.experiments.same_loss.recorded_study import Study
from ntpcompanion.experiments.same_loss.study_effects import slope_table, with_interval
from ntpcompanion.statistics.effects import paired_effect

KINDS = {"held": "one loss", "last": "same steps"}
OWN_PROBES = {"heads": "paper's head", "tuned": "fine-tuned"}


@dataclass(frozen=True, eq=False)
class HeldEffects:
    """Networks at several traces of the function, beside those of the same seed that were held at
    the trace where they began.

    Fields
    ------
    studies
        by language, of `held_study`.
    """

    studies: Mapping[str, Study]

    def changes(self, kind: str) -> pd.DataFrame:
        """What each chosen change did to traces (e-folds), loss (per cent of the learnable gap) and
        accuracies (points), by language and change. The `kind` is held, at one loss, or last, after
        the same number of steps.
        """
        columns = ["trace", "function", "median", "share", "projected", "masked"]
        tables = {name: study.effects(kind, columns) for name, study in self.studies.items()}
        return pd.concat(tables, names=["language", "asked"])

    @property
    def change_table(self) -> pd.DataFrame:
        """The `changes` of both kinds for readers, with 95 % intervals."""
        tables = {word: self.changes(kind) for kind, word in KINDS.items()}
        shown = pd.concat(tables, names=["taken at"]).map(with_interval)
        names = ["plain trace", "trace of the function", "median input", "loss (% of gap)"]
        return shown.set_axis([*names, "64 columns", "masked"], axis=1).reset_index()

    def slopes(self, kind: str = "held", trace: str = "function") -> pd.DataFrame:
        """Points for each e-fold of the trace of the function, or with `median` of that of the
        median input, within seeds: a row for each language, a column for each probe that was
        measured of the `kind`.
        """
        probes = [*PROBES, *(OWN_PROBES if kind == "held" else ())]
        return slope_table(self.studies, kind, probes, trace=trace)

    @property
    def slope_table(self) -> pd.DataFrame:
        """The `slopes` of both kinds for readers, and at one loss those by the median input, with
        95 % intervals; a row for each probe.
        """
        tables = {word: self.slopes(kind) for kind, word in KINDS.items()}
        tables["median input"] = self.slopes(trace="median")
        columns = {
            f"{name}, {word}": table.loc[name].map(with_interval)
            for name in self.studies
            for word, table in tables.items()
        }
        words = PROBES | OWN_PROBES
        shown = pd.DataFrame(columns).reindex(list(words)).rename(words).fillna("")
        return shown.rename_axis("probe").reset_index()

    @property
    def planes(self) -> dict[str, pd.DataFrame]:
        """For `draw_trace_plane`: each network at one loss against the one of its seed that was
        held where it began, by language.
        """
        return {
            name: study.plane(["held"], trace="function") for name, study in self.studies.items()
        }

    @property
    def summary(self) -> pd.DataFrame:
        """A row for each language. Changes of the trace at one loss are `flat` and `sharp`, those
        of the median input `flat_median` and `sharp_median`, and the `least` of the sharper
        networks; losses of one seed differ at most by `apart`, and the mean excess of the flatter
        networks is `level`, between `lowest` and `highest` for all changes, in per cent of the
        learnable gap. The control gains `rest` by the rest of its training. After the same steps
        the sharper networks have `last_trace`, `last_loss` and `last_gain`, the flatter ones
        nearest to the control `near_trace` and so on.
        Slopes have the names of their probes, by the median input with `by_median_` before it, in
        log-odds with `odds_`.
        """
        rows, changes = {}, {kind: self.changes(kind) for kind in KINDS}
        slopes, by_median = self.slopes(), self.slopes(trace="median")
        for name, study in self.studies.items():
            flat, *_, sharp = study.strengths("held")
            held, last = (changes[kind].loc[name] for kind in KINDS)
            control = study.arm("held", 0.0, "share")
            ratio = study.arm("held", sharp, "function") / study.arm("held", 0.0, "function")
            ends = [study.arm("held", side, "share") - control for side in (flat, sharp)]
            levels = [study.arm("held", side, "share").mean() for side in study.strengths("held")]
            near = max(change for change in study.strengths("last") if change < 0)
            rest = (study.arm(kind, 0.0, "projected").to_numpy() for kind in ("last", "held"))
            rows[name] = {
                "flat": with_interval(held["function"][flat]),
                "sharp": with_interval(held["function"][sharp]),
                "flat_median": with_interval(held["median"][flat]),
                "sharp_median": with_interval(held["median"][sharp]),
                "least": np.log(ratio.min()),
                "apart": max(end.abs().max() for end in ends),
                "level": levels[0],
                "lowest": min(levels),
                "highest": max(levels),
                "rest": with_interval(paired_effect(*rest)),
                "last_trace": with_interval(last["function"][sharp]),
                "last_loss": with_interval(last["share"][sharp]),
                "last_gain": with_interval(last["projected"][sharp]),
                "near_trace": with_interval(last["function"][near]),
                "near_loss": with_interval(last["share"][near]),
                "near_gain": with_interval(last["projected"][near]),
                **slopes.loc[name].map(with_interval),
                **by_median.loc[name].map(with_interval).add_prefix("by_median_"),
                **{
                    f"odds_{probe}": with_interval(
                        study.slope("held", probe, trace="function", odds=True), 3
                    )
                    for probe in ("projected", "heads", "masked")
                },
            }
        return pd.DataFrame(rows).T


def read_held_effects(
    studies: RecordedStudies, read: Callable[[str], Iterable[Any]]
) -> HeldEffects:
    """The records of `held_traces`, with the languages of three studies; `read` gives the runs of
    a record.
    """
    languages = {
        "8 states": ("hmm8", studies.eight),
        "6 states": ("hmm6", studies.six),
        "grammar": ("pcfg16", studies.grammar),
    }
    return HeldEffects(
        {
            name: held_study(read(f"held_traces_{language}"), study.gaps)
            for name, (language, study) in languages.items()
            if study.gaps is not None
        }
    )

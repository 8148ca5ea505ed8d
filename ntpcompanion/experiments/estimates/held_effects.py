"""Features of networks of one loss whose trace was held at chosen levels."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from ntpcompanion.experiments.estimates.recorded_studies import RecordedStudies
from ntpcompanion.experiments.estimates.trace_effects import PRINTED_SLOPE, PROBES
from ntpcompanion.experiments.same_loss.held_traces import held_study
from ntpcompanion.experiments.same_loss.study_evidence import intervals, slope_table, with_interval
from ntpcompanion.experiments.same_loss.study_table import Study

TRACES = ("trace", "function", "median")
KINDS = {"held": "one loss", "last": "same steps"}
OWN_PROBES = {"heads": "paper's head", "tuned": "fine-tuned"}


@dataclass(frozen=True, eq=False)
class HeldEffects:
    """Networks at three traces of the function and one loss, beside those of the same seed that
    were held at the trace where they began.

    Fields
    ------
    studies
        by language, of `held_study`.
    """

    studies: Mapping[str, Study]

    def changes(self, kind: str = "held") -> pd.DataFrame:
        """What each chosen change did to traces (e-folds), loss (per cent of the learnable gap) and
        accuracies (points), by language and change. The `kind` is held, at one loss, or last, after
        the same number of steps.
        """
        columns = [*TRACES, "share", "projected", "masked"]
        return pd.concat(
            {
                name: study.effects(kind, columns, [c for c in study.strengths(kind) if c])
                for name, study in self.studies.items()
            },
            names=["language", "asked"],
        )

    @property
    def change_table(self) -> pd.DataFrame:
        """The `changes` of both kinds for readers, with 95 % intervals."""
        tables = {word: self.changes(kind) for kind, word in KINDS.items()}
        shown = pd.concat(tables, names=["taken at"]).map(with_interval)
        names = ["plain trace", "trace of the function", "median input", "loss (% of gap)"]
        return shown.set_axis([*names, "64 columns", "masked"], axis=1).reset_index()

    @cached_property
    def slopes(self) -> pd.DataFrame:
        """Points for each e-fold of the trace of the function at one loss, within seeds: a row for
        each language, a column for each probe.
        """
        return self._slopes("held", [*PROBES, *OWN_PROBES])

    @cached_property
    def last_slopes(self) -> pd.DataFrame:
        """The same of converged probes after the same number of steps."""
        return self._slopes("last", [*PROBES])

    def _slopes(self, kind: str, probes: list[str]) -> pd.DataFrame:
        tables = [
            slope_table({name: study}, kind, probes, study.strengths(kind), "function")
            for name, study in self.studies.items()
        ]
        return pd.concat(tables)

    @property
    def forest(self) -> pd.DataFrame:
        """For `draw_comparisons`: the `slopes` beside the printed one and a fifth of it."""
        words = {**PROBES, "masked": "masked", **OWN_PROBES}
        rows = {
            f"{name}, {words[probe]}": self.slopes[probe][name]
            for name in self.studies
            for probe in words
        }
        return intervals(rows).assign(paper=PRINTED_SLOPE, delta=PRINTED_SLOPE / 5)

    @property
    def planes(self) -> dict[str, pd.DataFrame]:
        """For `draw_trace_plane`: each network against the one of its seed that was held where it
        began, by language.
        """
        return {
            name: study.plane(["held"], trace="function") for name, study in self.studies.items()
        }

    @property
    def summary(self) -> pd.DataFrame:
        """For each language how far the traces lie apart (`span`, e-folds), by how much the losses
        differ at most (`apart`, per cent of the gap), and the slopes with their intervals.
        """
        held, rows = self.changes(), {}
        for name in self.studies:
            traces = [effect.mean for effect in held.loc[name]["function"]]
            rows[name] = {
                "span": max(traces) - min(traces),
                "apart": max(abs(effect.mean) for effect in held.loc[name]["share"]),
                **{f"slope_{p}": with_interval(self.slopes[p][name]) for p in self.slopes},
                **{f"last_{p}": with_interval(self.last_slopes[p][name]) for p in self.last_slopes},
            }
        return pd.DataFrame(rows).T


def read_held_effects(
    studies: RecordedStudies, read: Callable[[str], Iterable[Any]]
) -> HeldEffects:
    """The records of `held_traces`, with the languages of two studies; `read` gives the runs of a
    record.
    """
    gaps = {"8 states": ("hmm8", studies.eight.gaps), "6 states": ("hmm6", studies.six.gaps)}
    return HeldEffects(
        {
            name: held_study(read(f"held_traces_{language}"), of_language)
            for name, (language, of_language) in gaps.items()
            if of_language is not None
        }
    )

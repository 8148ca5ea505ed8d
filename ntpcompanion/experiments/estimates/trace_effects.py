"""Flatness and downstream accuracy: what recorded studies say when the trace is changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ntpcompanion.experiments.estimates.recorded_studies import RecordedStudies
from ntpcompanion.experiments.same_loss import study_effects
from ntpcompanion.experiments.same_loss.recorded_study import Study
from ntpcompanion.experiments.same_loss.study_effects import with_interval
from ntpcompanion.statistics.power import verdict_on, verdict_probabilities

_FOLD = np.log(19.34 / 8.01)  # e-folds between the traces of the paper's Table 2
PRINTED_SLOPE = (50.2 - 55.7) / _FOLD  # points per e-fold
PRINTED_LOG_ODDS = (np.log(0.557 / 0.443) - np.log(0.502 / 0.498)) / _FOLD
MOVES = {
    "penalty": "penalty",
    "annealed": "SGD, annealed",
    "continued": "trained on",
    "rescaled": "rescaled",
    "adversarial": "adversarial",
}
PROBES = {
    "projected": "64 columns",
    "full": "all features",
    "few_shot": "400 examples",
    "masked": "at masked words",
}
SHARPEST = {"8 states": -0.01, "6 states": -0.01, "grammar": -0.004}  # weights of the penalty
_DECISIONS = {"refuted": "excluded", "inconclusive": "not excluded"}


@dataclass(frozen=True, eq=False)
class TraceEffects:
    """Effects of all interventions that change the trace, by language."""

    studies: RecordedStudies

    @cached_property
    def flatter(self) -> dict[str, Study]:
        """The studies without what makes the trace larger on purpose."""
        query, all_of = "kind != 'penalty' or strength >= 0", self.studies
        penalized = all_of.longer.select("kind == 'penalty'").select(query)
        eight = all_of.eight.select("kind != 'penalty'").joined(penalized)
        six, grammar = all_of.six.select(query), all_of.grammar.select(query)
        return {"8 states": eight, "6 states": six, "grammar": grammar}

    @property
    def eight(self) -> Study:
        """That of `flatter` with 8 states."""
        return self.flatter["8 states"]

    def plane(self, probe: str = "projected") -> pd.DataFrame:
        """For `draw_trace_plane`: each model of 8 states at equal loss against its baseline."""
        return self.eight.plane([*MOVES], probe).replace({"kind": MOVES})

    @property
    def planes(self) -> pd.DataFrame:
        """The `plane` of each probe on features that are not masked."""
        probes = ("projected", "full", "few_shot")
        return pd.concat([self.plane(probe).assign(probe=probe) for probe in probes])

    @cached_property
    def slopes(self) -> pd.DataFrame:
        """Points per e-fold of the balanced trace, a row for each language, a column for each of
        PROBES.
        """
        return study_effects.slope_table(self.flatter, "penalty", [*PROBES])

    @cached_property
    def doses(self) -> pd.DataFrame:
        """What each weight of the penalty changes, by language and weight."""
        columns = ["balanced", "share", "projected", "masked"]
        tables = {name: study.effects("penalty", columns) for name, study in self.flatter.items()}
        return pd.concat(tables, names=["language", "weight"])

    @property
    def dose_table(self) -> pd.DataFrame:
        """The `doses` for readers, with 95 % intervals."""
        shown = self.doses.map(with_interval).reset_index()
        shown["weight"] = shown.weight.map("{:g}".format)
        names = ["trace (e-folds)", "loss (% of gap)", "64 columns (points)", "masked (points)"]
        return shown.set_axis(["language", "μ", *names], axis=1)

    def strongest(self, column: str) -> pd.Series:
        """The effect of the largest weight of the penalty on a column of `doses`, by language."""
        return self.doses[column].groupby(level="language").last()

    def excess_at_largest_weight(self, language: str) -> float:
        """Mean excess of the loss under the largest weight, at equal loss or not, per cent of the
        gap.
        """
        study = self.flatter[language]
        return float(study.arm("penalty", study.strengths("penalty")[-1], "share").mean())

    @property
    def penalty_lines(self) -> pd.DataFrame:
        """For 8 states columns `trace` and `accuracy`, in each a column for each seed, and a row
        for each weight of the penalty at equal loss.
        """
        weights = self.eight.equal_loss("penalty")
        return pd.concat(
            {
                name: pd.DataFrame({w: self.eight.arm("penalty", w, column) for w in weights}).T
                for name, column in {"trace": "balanced", "accuracy": "projected"}.items()
            },
            axis=1,
        )

    @property
    def sides(self) -> pd.DataFrame:
        """For each language the slope on the flatter `side`, by how much the trace falls (`dose`,
        e-folds) and the loss rises (`dearer`, per cent of the gap) at most, the accuracy without a
        penalty (`level`), a fifth of the printed slope at that accuracy (`odds`), and whether the
        side excludes it (`odds_word`).
        """
        rows = {}
        for name, study in self.flatter.items():
            end, side = self.doses.loc[name].iloc[-1], self.slopes.projected[name]
            level = study.arm("penalty", 0.0, "projected").mean()
            fifth = study_effects.points_of_log_odds(PRINTED_LOG_ODDS / 5, level)
            low, high = side.interval
            verdict = verdict_on(low, high, -fifth)
            rows[name] = {
                "side": with_interval(side),
                "dose": -end.balanced.mean,
                "dearer": end.share.mean,
                "level": level,
                "odds": fifth,
                "odds_word": _DECISIONS.get(verdict, verdict),
            }
        return pd.DataFrame(rows).T

    def chance(self, verdict: str, effect: float, delta: float = -1.24) -> float:
        """The least probability of a verdict on `delta` if the slopes were `effect`."""
        slopes = self.slopes[["projected", "masked"]].to_numpy().ravel()
        chances = (
            verdict_probabilities(slope.sd, slope.replicates, effect, delta) for slope in slopes
        )
        return min(float(getattr(one, verdict)) for one in chances)

    @property
    def sharpest(self) -> pd.DataFrame:
        """For the sharpest models of each language their part of what decides a slope within seeds
        (`lever`, per cent), and the `least` and `most` of their balanced traces.
        """
        of = self.studies
        studies = {"8 states": of.longer, "6 states": of.six, "grammar": of.grammar}
        rows = {}
        for name, study in studies.items():
            traces = study.arm("penalty", SHARPEST[name], "balanced")
            lever = 100 * study.leverage("penalty")[SHARPEST[name]]
            rows[name] = {"lever": lever, "least": traces.min(), "most": traces.max()}
        return pd.DataFrame(rows).T

    @property
    def points_per_percent(self) -> float:
        """What a larger loss alone goes with at masked words, for half the steps, 8 states."""
        masked, excess = (
            self.studies.eight.lead(self.studies.longer, column) for column in ("masked", "share")
        )
        return float(masked.mean / excess.mean)

    @property
    def forest(self) -> pd.DataFrame:
        """For `draw_comparisons`: the `slopes` beside the printed one and a fifth of it."""
        named = {**PROBES, "masked": "masked"}
        rows = {
            name if probe == "projected" else f"{name}, {word}": self.slopes[probe][name]
            for name in self.flatter
            for probe, word in named.items()
        }
        return study_effects.intervals(rows).assign(paper=PRINTED_SLOPE, delta=PRINTED_SLOPE / 5)

    @property
    def rescaled(self) -> pd.Series:
        """The largest effect of a rescaling on the accuracy (points) and on the trace (e-folds)."""
        columns = ["projected", "trace"]
        effects = self.eight.effects("rescaled", columns, self.eight.strengths("rescaled"))
        return effects.map(lambda effect: abs(effect.mean)).max()

    @property
    def adversaries(self) -> pd.DataFrame:
        """The adversaries of three languages with weights up to .01 for readers, beside what the
        printed slope would have them cost.
        """
        of, columns = self.studies, ["balanced", "share", "projected"]
        studies = {"8": self.eight, "6": of.six_attacked, "12": of.twelve}
        weak = pd.concat(
            {
                name: study.effects("adversarial", columns, study.strengths("adversarial"))
                for name, study in studies.items()
            },
            names=["states", "λ"],
        ).query("λ <= 0.01")
        shown = pd.DataFrame(
            {
                "trace (e-folds)": weak.balanced.map(lambda effect: with_interval(effect, 3)),
                "loss (% of gap)": weak.share.map(with_interval),
                "by Table 2 (points)": weak.balanced.map(
                    lambda effect: PRINTED_SLOPE * effect.mean
                ),
                "measured (points)": weak.projected.map(lambda effect: with_interval(effect, 1)),
            }
        ).reset_index()
        return shown.assign(λ=shown.λ.map("{:g}".format))

    def wide_slopes(self, probes: Mapping[str, str]) -> pd.DataFrame:
        """Slopes across the three widths for readers: a row for each of the `probes`, which are
        given with their names in words.
        """
        studies = [*self.studies.by_width.values()]
        slopes = study_effects.slopes_across(studies, [*probes]).map(with_interval)
        names = [f"per e-fold of the {trace} trace" for trace in ("plain", "balanced")]
        return slopes.set_axis(names, axis=1).rename(probes).rename_axis("probe").reset_index()

    @property
    def wide_steps(self) -> dict[str, str]:
        """What the width changes from 32 to 64 (`next`) and from 64 to 128 (`further`) in the plain
        trace (e-folds), in the accuracy of the paper's head (points), and in that on `untrained`
        networks.
        """
        small, middle, large = self.studies.by_width.values()
        steps: dict[str, str] = {}
        for step, (before, after) in {"next": (small, middle), "further": (middle, large)}.items():
            leads = {
                "trace": after.lead(before, "trace"),
                "heads": after.lead(before, "heads"),
                "untrained": after.lead(before, "heads", kind="untrained"),
            }
            steps |= {f"{step}_{name}": with_interval(lead) for name, lead in leads.items()}
        return steps

    @property
    def trained_on(self) -> pd.DataFrame:
        """What further training does in two languages to the `trace` (e-folds), as `gain`
        (points), and what the printed slope makes of the trace (`worth`).
        """
        rows = {}
        for name, study in {
            "8 states": self.studies.eight,
            "6 states": self.flatter["6 states"],
        }.items():
            moved, gain = study.effect("continued", "balanced"), study.effect("continued")
            rows[name] = {
                "trace": with_interval(moved, 3),
                "gain": with_interval(gain),
                "worth": PRINTED_SLOPE * moved.mean,
            }
        return pd.DataFrame(rows).T

    def models_to_choose(self) -> dict[str, Any]:
        """For the figure to touch: models of three languages, and what their trace is held to."""
        names = (
            "hidden Markov model, 8 states",
            "hidden Markov model, 6 states",
            "grammar, 16 nonterminals",
        )
        studies = dict(zip(names, self.flatter.values(), strict=True))
        return {
            "languages": study_effects.models_to_choose(studies, [*MOVES, "saturated"]),
            "probes": [*study_effects.CHOICES],
            "equal_share": self.studies.eight.equal_share,
            "printed": PRINTED_SLOPE,
        }


def sgd_ratios(excess: pd.DataFrame) -> pd.Series:
    """By learning rate, the mean over seeds of measured over predicted of `sgd_excess`."""
    return (excess.measured / excess.predicted).groupby(level="rate").mean()

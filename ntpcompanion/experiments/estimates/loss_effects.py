"""Downstream accuracy at the same loss: effects and tables of the recorded studies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ntpcompanion.experiments.estimates.recorded_studies import RecordedStudies
from ntpcompanion.experiments.same_loss import comparisons, downstream, study_effects
from ntpcompanion.experiments.same_loss.lookup_columns import accuracy_table
from ntpcompanion.experiments.same_loss.recorded_study import Study, study_table
from ntpcompanion.mlm.data.named_plans import LANGUAGE_PLANS, named
from ntpcompanion.mlm.evaluation.block_predictor import block_divergence
from ntpcompanion.mlm.evaluation.context_ablation import ContextGaps, context_gaps
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect
from ntpcompanion.statistics.power import seeds_needed

FEATURES = ("words", "untrained", "lookup table", "saturated")
PROBES = ("projected", "full", "few_shot")
LEADS = ("lead over raw words", "lead over an untrained network")
# what the design asks of a language; gaps in nats, the loss in per cent of the learnable gap
CONDITIONS = {
    "learnable gap": ("at least", 0.3),
    "neighbours' gap": ("at least", 0.12),
    "excess loss": ("at most", 2.0),
    **dict.fromkeys(LEADS, ("at least", 10.0)),
}
_TABLES = {"Pr": "Pr", "log Pr": "log", "log Pr, words": "log_words"}


@dataclass(frozen=True, eq=False)
class SameLossEffects:
    """Effects at the same loss in all languages, beside what the paper prints.

    Fields
    ------
    studies
        of `read_studies`.
    lookup_runs
        of a record of `lookup_columns`.
    """

    studies: RecordedStudies
    lookup_runs: Iterable[Any]

    @cached_property
    def compared(self) -> pd.DataFrame:
        """Of `comparisons.compare`: a row for each case."""
        return comparisons.compare(self.studies.by_name)

    @property
    def forest(self) -> pd.DataFrame:
        """The cases of the figure; the others stand in tables."""
        return self.compared[self.compared.label != ""]

    @property
    def seeds_needed(self) -> list[int]:
        """How many seeds each case of the figure would need whose interval falls short of δ."""
        forest = self.forest
        reached = forest[["low", "high"]].mul(np.sign(forest.delta), axis=0).min(axis=1)
        short = forest[reached < forest.delta.abs()]
        return [seeds_needed(*row) for row in short[["sd", "delta"]].to_numpy()]

    @property
    def accuracies(self) -> pd.DataFrame:
        """On the main task of 8 states, by `features` (FEATURES), `probe` and seed, in per cent."""
        kinds = [name.removesuffix(" table") for name in FEATURES]
        table = study_effects.accuracies_by_features(self.studies.eight, kinds, PROBES)
        return table.replace({"features": {"lookup": "lookup table"}})

    @property
    def conditions(self) -> pd.DataFrame:
        """What the design asks for, and whether each language meets it."""
        of, drawn = self.studies, self.studies.sentences
        measured = {
            "8 states": study_effects.design_effects(of.eight, drawn["eight"]),
            "6 states": study_effects.design_effects(of.six, drawn["six"]),
            "12 states": study_effects.design_effects(of.twelve, drawn["twelve"]),
            "grammar": study_effects.design_effects(of.grammar, drawn["grammar"]),
        }
        return study_effects.condition_table(CONDITIONS, measured)

    @cached_property
    def _columns(self) -> pd.DataFrame:
        return accuracy_table(self.lookup_runs)

    @property
    def lookup_tables(self) -> pd.DataFrame:
        """For both languages the accuracies of probes on all columns of three lookup tables
        (`table_Pr`, `table_log`, `table_log_words`), by how much networks are ahead of each
        (`apart_...`) and of the best (`apart_least`), on the examples of the study.
        """
        rows = {}
        for name, states, study in self._probed:
            probed, network = self._columns.loc[states].iloc[0], study.saturated("full").mean()
            best = probed.drop("exact posterior").max()
            row = {"apart_least": network - best}
            for column, key in _TABLES.items():
                row |= {f"table_{key}": probed[column], f"apart_{key}": network - probed[column]}
            rows[name] = row
        return pd.DataFrame(rows).T

    @property
    def lookup_column_table(self) -> pd.DataFrame:
        """Accuracies for readers, columns of the probe by language, on the examples of the study,
        with the deviation over other examples and over networks.
        """
        shown = {}
        for name, states, study in self._probed:
            each, network = self._columns.loc[states], study.saturated("full")
            spread = pd.Series(each.std()).map(" ({:.1f})".format)
            cells = each.iloc[0].map("{:.1f}".format) + spread
            cells["network"] = f"{network.mean():.1f} ({network.std():.1f})"
            shown[name] = cells
        return pd.DataFrame(shown).rename_axis("columns of the probe").reset_index()

    @property
    def _probed(self) -> list[tuple[str, int, Study]]:
        return [("8 states", 8, self.studies.eight), ("6 states", 6, self.studies.six)]

    @property
    def adversary_table(self) -> pd.DataFrame:
        """Effects of each weight of the adversary of 8 states for readers, with standard errors."""
        study = self.studies.eight
        first, control = study.plan.suite.places if study.plan else (1, comparisons.CONTROL)
        columns = {
            "excess loss (% of the gap)": ("share", None),
            "linear probe (points)": ("projected", first),
            "control task (points)": ("projected", control),
            "fine-tuned (points)": ("tuned", first),
        }
        weights = study.strengths("adversarial")
        shown = pd.DataFrame(
            {
                name: [study.effect("adversarial", *where, weight) for weight in weights]
                for name, where in columns.items()
            }
        ).map(lambda effect: f"{effect.mean:+.2f} ± {effect.stderr:.2f}")
        shown.insert(0, "weight of the adversary", [f"{weight:g}" for weight in weights])
        return shown

    @property
    def grammar_trained_on(self) -> Effect:
        """Points that the steps of the penalty add on the grammar, with weight 0."""
        study = self.studies.grammar
        return paired_effect(study.arm("penalty", 0.0, "projected"), study.saturated("projected"))

    @property
    def levels(self) -> pd.DataFrame:
        """For the other languages the excess loss of saturated networks (`share`, per cent of the
        gap), their accuracy (`trained`), those of the exact posterior (`bayes`) and of raw words
        (`words`), and by how many points the `lookup` table differs.
        """
        of = self.studies
        rows = {}
        for name, study in {
            "6 states": of.six,
            "12 states": of.twelve,
            "grammar": of.grammar,
        }.items():
            exact = study.references[study.position]
            rows[name] = {
                "share": study.saturated("share").mean(),
                "trained": study.saturated("projected").mean(),
                "bayes": 100 * exact.bayes,
                "words": 100 * exact.words.projected,
                "lookup": study.effect("lookup").mean,
            }
        return pd.DataFrame(rows).T


def gaps_by_language(
    studies: RecordedStudies, languages: Sequence[str], sentences: int, seed: int
) -> dict[str, ContextGaps]:
    """What the context is worth in named languages and in the recorded ones; of a grammar a tenth
    of the sentences is drawn.
    """
    gaps = {"hmm-8": studies.eight.gaps}
    for name in languages:
        plan: Any = named("languages", name, LANGUAGE_PLANS)
        total = sentences if plan.family == "hmm" else sentences // 10
        gaps[name] = context_gaps(plan.build(), total, seed, enumerated=0)
    recorded = {"hmm-6": studies.six, "hmm-12": studies.twelve, "grammar": studies.grammar}
    gaps |= {name: study.gaps for name, study in recorded.items()}
    return {name: gap for name, gap in gaps.items() if gap}


def loss_beyond_block(name: str, sentences: int, seed: int) -> Effect:
    """What a predictor loses against the floor of a named hidden Markov model if it knows nothing
    of the context but the block, in nats, over drawn sentences.
    """
    plan: Any = named("languages", name, LANGUAGE_PLANS)
    language = plan.build()
    test = draw_test_set(language, sentences, language.length, seed)
    return mean_effect(block_divergence(language, test).numpy())


def gaps_table(gaps: Mapping[str, ContextGaps]) -> pd.DataFrame:
    """A row for each language, with the fields of `ContextGaps` and both gaps, in nats."""
    rows = {
        name: {
            **vars(gap),
            "learnable gap": gap.learnable_gap,
            "neighbours' gap": gap.neighbours_gap,
        }
        for name, gap in gaps.items()
    }
    return pd.DataFrame(rows).T.rename_axis("language").reset_index()


def symbol_table(study: Study) -> pd.DataFrame:
    """Accuracies of one network on the symbols of a grammar, by how many words each spans."""
    rows = [
        {
            "words that the symbol spans": position,
            "exact posterior": 100 * exact.bayes,
            "network": study.saturated("projected", position).item(),
            "untrained": study.arm("untrained", 0.0, "projected", position).item(),
            "lookup table": 100 * exact.lookup.projected,
            "raw words": 100 * exact.words.projected,
        }
        for position, exact in sorted(study.references.items())
    ]
    return pd.DataFrame(rows).set_index("words that the symbol spans")


def study_of_plan(plan: downstream.Plan, sentences: int = 1000, seed: int = 0) -> Study:
    """Run a plan of `downstream` here: its study, with the gaps of its language over so many drawn
    `sentences`. Cost that of the run.
    """
    result = downstream.run(plan)
    gaps = context_gaps(plan.language.build(), sentences, seed, enumerated=0)
    table = study_table([result], gaps.learnable_gap)
    return Study(table, plan, gaps, references=result.references)


def trace_ratio(study: Study, weight: float) -> Effect:
    """The trace under a weight of the adversary over that of the saturated models, over seeds."""
    return mean_effect(study.arm("adversarial", weight, "trace") / study.saturated("trace"))


def mean_table(study: Study) -> pd.DataFrame:
    """Means over seeds for readers: excess loss and accuracy by position, kind and weight."""
    columns = ["position", "kind", "strength"]
    shown = study.table.groupby(columns, sort=False)[["share", "projected"]].mean()
    shown.columns = pd.Index(["excess (% of the gap)", "accuracy (%)"])
    return shown.reset_index().rename(columns={"strength": "weight"})

import pandas as pd
import pytest

from ntpcompanion.experiments.estimates import loss_effects
from ntpcompanion.experiments.estimates.loss_effects import SameLossEffects
from ntpcompanion.experiments.estimates.recorded_studies import (
    EIGHT,
    SENTENCES,
    RecordedStudies,
    read_studies,
)
from ntpcompanion.experiments.same_loss import downstream, lookup_columns
from ntpcompanion.experiments.same_loss.study_model import TaskReferences
from ntpcompanion.mlm import LANGUAGE_PLANS, block_divergence, draw_test_set
from ntpcompanion.mlm.evaluation.context_ablation import ContextGaps
from ntpcompanion.recorded import Run
from tests.experiments.same_loss.test_recorded_study import ALONE, rows, study_of
from tests.experiments.study_cases import ATTACK, plan

GAPS = ContextGaps(3.25, 0.003, 4.07, 4.05, 3.4, 0.004)
MODELS = [*rows("saturated", 0.0, 0.008, 1.0, 9.0), *rows("untrained", 0.0, 0.1, 1.0, 2.0)]
MODELS += [*rows("penalty", 0.0, 0.008, 1.0, 12.0), *rows("adversarial", 0.5, 0.012, 3.0, 4.0)]
STUDY = study_of(*MODELS, gaps=GAPS, references={1: TaskReferences(0.1, 0.9, ALONE, ALONE)})
STUDY.table["tuned"] = STUDY.table.projected


def lookup_run(states, extra):
    language = {"family": "hmm", "states": states, "words": 9, "length": 4, "blocks": 1}
    accuracy = dict.fromkeys(lookup_columns.PARTS, 0.5 + extra)
    accuracy |= {"log Pr": 0.625 + extra, "log Pr, words": 0.75 + extra}
    suite = {"places": [1], "examples": [60, 40], "sentences": 100, "inputs": 16, "labels": 1}
    return Run(
        lookup_columns.Plan.from_json({"language": language, "suite": suite}),
        lookup_columns.Result(accuracy=accuracy, bayes=0.9),
    )


LOOKUPS = [lookup_run(states, extra) for extra in (0.0, 0.125) for states in (8, 6)]
FOUND = SameLossEffects(RecordedStudies(*[STUDY] * 8), LOOKUPS)


def test_networks_are_ahead_of_each_lookup_table():
    """Accuracies 79, 80 and 81 of three seeds; 75 of the best table, with the first examples."""
    found = FOUND.lookup_tables.loc["6 states"]
    assert found[["table_Pr", "apart_Pr"]].tolist() == pytest.approx([50, 30])
    assert found[["table_log", "apart_log"]].tolist() == pytest.approx([62.5, 17.5])
    assert found[["apart_log_words", "apart_least"]].tolist() == pytest.approx([5, 5])
    shown = FOUND.lookup_column_table.set_index("columns of the probe")["8 states"]
    assert shown[["log Pr", "network"]].tolist() == ["62.5 (8.8)", "80.0 (1.0)"]


def test_levels_and_what_more_steps_add():
    level = FOUND.levels.loc["grammar"]
    expected = {"share": 1.0, "trained": 80.0, "bayes": 90.0, "words": 60.0, "lookup": -20.0}
    assert level.to_dict() == pytest.approx(expected)
    assert FOUND.grammar_trained_on.mean == pytest.approx(3.0)
    assert loss_effects.trace_ratio(STUDY, 0.5).mean == pytest.approx(3.0)
    accuracies = FOUND.accuracies.groupby("features", sort=False).accuracy.mean()
    assert [*accuracies.index] == [*loss_effects.FEATURES]
    assert accuracies.tolist() == pytest.approx([60, 73, 60, 80])


def test_conditions_are_asked_of_four_languages():
    found = FOUND.conditions
    assert [*found.columns[2:]] == ["8 states", "6 states", "12 states", "grammar"]
    cells = [cell.partition(" ±")[0] for cell in found["grammar"][2:]]
    assert cells == ["1", "20", "✗ 7"]


def test_more_seeds_are_needed_where_an_interval_falls_short():
    """Of three cases one reaches δ, and one stands in a table only."""
    columns = ["label", "delta", "low", "high", "sd"]
    found = SameLossEffects(FOUND.studies, [])
    cases = [("a", -1.0, -3.0, -2.0, 0.5), ("b", 1.0, -0.1, 0.9, 0.5), ("", 1.0, 0.0, 0.5, 0.5)]
    found.__dict__["compared"] = pd.DataFrame(cases, columns=columns)
    assert found.forest.label.tolist() == ["a", "b"]
    assert found.seeds_needed == [loss_effects.seeds_needed(0.5, 1.0)]


def test_the_loss_beyond_the_block_is_that_of_the_drawn_sentences():
    language = LANGUAGE_PLANS["hmm-100"].build()
    test = draw_test_set(language, 40, 16, seed=3)
    expected = block_divergence(language, test)
    found = loss_effects.loss_beyond_block("hmm-100", 40, seed=3)
    assert found.mean == pytest.approx(float(expected.mean()))
    assert found.replicates == 40


def test_symbols_are_listed_by_the_words_that_they_span():
    one = study_of(MODELS[0], MODELS[3], references=STUDY.references)
    (row,) = loss_effects.symbol_table(one).reset_index().to_numpy().tolist()
    assert row == pytest.approx([1, 90, 79, 72, 60, 60])


def test_a_plan_becomes_a_study_of_its_result():
    small = loss_effects.study_of_plan(plan(ATTACK), 100)
    assert small.plan == plan(ATTACK)
    shown = loss_effects.mean_table(small)
    assert [*shown.columns[:3]] == ["position", "kind", "weight"]
    own = small.saturated("share", 1).mean()
    row = shown[(shown.kind == "saturated") & (shown.position == 1)]
    assert row["excess (% of the gap)"].tolist() == [pytest.approx(own)]


def test_studies_are_read_by_the_names_of_their_records(monkeypatch):
    read, result = [], Run(plan(), downstream.run(plan()))

    def reader(name):
        read.append(name)
        return [result]

    found = read_studies(reader, {"six": 300, **dict.fromkeys(SENTENCES, 100)}, equal_share=3.0)
    assert read[:3] == [*EIGHT]
    assert len(read) == len(set(read)) == 10
    assert found.six.equal_share == 3.0
    assert found.longer.gaps == found.eight.gaps
    assert set(found.by_name) == {case.study for case in loss_effects.comparisons.CASES}
    assert found.by_width[64] is found.width64

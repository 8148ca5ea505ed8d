import numpy as np
import pytest

from ntpcompanion.experiments.same_loss import study_effects as evidence
from ntpcompanion.mlm.evaluation.context_ablation import ContextGaps
from ntpcompanion.statistics.effects import Effect, paired_effect
from tests.experiments.same_loss.test_recorded_study import SEEDS, STUDY, rows, study_of
from tests.experiments.study_cases import NOISE, plan


def test_a_slope_across_widths_has_its_own_line_for_each_seed():
    """Traces e^0, e^1, e^2 times those of a seed, and three points for each."""
    widths = [study_of(*rows("saturated", 0.0, 0.008, np.exp(k), -3.0 * k)) for k in range(3)]
    found = evidence.slopes_across(widths, ["projected"])
    for slope in found.loc["projected"]:
        assert (slope.mean, slope.replicates) == (pytest.approx(-3.0), len(SEEDS))


def test_slopes_and_intervals_stand_in_tables():
    slopes = evidence.slope_table({"one": STUDY}, "penalty", ["projected", "full"])
    assert slopes.map(lambda own: own.mean).to_numpy() == pytest.approx(np.ones((1, 2)))
    (row,) = evidence.intervals({"a": slopes.loc["one", "full"]}).to_numpy().tolist()
    assert row == ["a", *(pytest.approx(1.0, abs=1e-6) for _ in range(3))]


def test_the_excess_of_sgd_is_predicted_from_rate_and_trace():
    """By hand: rate 0.3 times the learning rate 1e-2, a batch of 8, traces 2 (10 + seed)."""
    models = [*rows("sgd", 0.0, 0.01, 1.0, 0.0), *rows("sgd", 0.3, 0.05, 1.0, 0.0)]
    study = study_of(*models, plan=plan(NOISE))
    found = evidence.sgd_excess(study).loc[0.3]
    assert found.measured.to_numpy() == pytest.approx([0.04] * 3)
    assert found.predicted.to_numpy() == pytest.approx([0.003 * t / 32 for t in (20, 22, 24)])
    with pytest.raises(ValueError, match="must have the intervention `Noise`"):
        evidence.sgd_excess(STUDY)


def test_models_to_choose_have_no_missing_numbers():
    (found,) = evidence.models_to_choose({"one": STUDY}, ["penalty", "sgd"])
    assert (found["name"], set(found["models"]["kind"])) == ("one", {"penalty"})
    assert found["models"]["heads"] == [None] * 9
    assert found["models"]["projected"][:3] == [71.5, 72.5, 73.5]


def test_a_design_leads_what_it_is_compared_with():
    models = [
        m
        for kind, p in (("saturated", 9.0), ("untrained", 2.0))
        for m in rows(kind, 0.0, 0.008, 1.0, p)
    ]
    gaps = ContextGaps(3.25, 0.003, 4.07, 4.05, 3.4, 0.004)
    study = study_of(*models, gaps=gaps, references=STUDY.references)
    found = evidence.design_effects(study, 100)
    own, beside = found["learnable gap"], found["neighbours' gap"]
    assert (own.mean, own.stderr, own.replicates) == (gaps.learnable_gap, 0.003, 100)
    assert own.sd == pytest.approx(0.03)
    assert (beside.mean, beside.stderr) == (gaps.neighbours_gap, pytest.approx(0.005))
    leads = {"excess loss": 1.0, "lead over raw words": 20.0, "lead over an untrained network": 7.0}
    assert {name: found[name].mean for name in leads} == pytest.approx(leads)
    table = evidence.accuracies_by_features(study, ["words", "untrained"], ["full"])
    assert table.accuracy.tolist() == pytest.approx([60.0, 72.0, 73.0, 74.0])
    with pytest.raises(ValueError, match="`study` must be one of `read_study`"):
        evidence.design_effects(STUDY, 100)


def test_a_fifth_of_table_2_in_log_odds_is_a_third_of_a_point_near_the_ceiling():
    """50.2 and 55.7 per cent, 0.88 e-folds: 0.05 of log-odds, derived by hand."""
    odds = np.log(0.557 / 0.443) - np.log(0.502 / 0.498)
    fifth = odds / np.log(19.34 / 8.01) / 5
    assert evidence.points_of_log_odds(fifth, 92.8) == pytest.approx(0.33, abs=0.01)
    assert evidence.points_of_log_odds(fifth, 53.0) == pytest.approx(1.25, abs=0.01)
    with pytest.raises(ValueError, match="`accuracy` must lie between 0 and 100"):
        evidence.points_of_log_odds(0.1, 100.0)


def test_a_condition_is_met_by_the_whole_interval():
    wide, narrow = Effect(11.0, 1.0, 8, 2.8), paired_effect([21.0, 21.2, 21.1], [10.0, 10.0, 10.0])
    found = evidence.condition_table(
        {"lead": ("at least", 10), "loss": ("at most", 12)},
        {"one": {"lead": wide, "loss": wide}, "two": {"lead": narrow, "loss": narrow}},
    )
    assert found["asked for"].tolist() == ["at least 10", "at most 12"]
    assert found["one"].tolist() == ["✗ 11 ± 2", "✗ 11 ± 2"]
    assert found["two"].tolist() == ["11.1 ± 0.2", "11.1 ± 0.2"]


@pytest.mark.parametrize("conditions", [{"lead": ("over", 1)}, {"other": ("at least", 1)}])
def test_a_condition_nobody_measured_is_refused(conditions):
    with pytest.raises(ValueError, match="`conditions` must say at least or at most, of what"):
        evidence.condition_table(conditions, {"one": {"lead": Effect(1.0, 0.1, 8, 0.3)}})


def test_a_number_stands_with_its_interval():
    assert evidence.with_interval(Effect(-0.456, 0.0, 8, 0.0), 1) == "−0.5 [−0.5, −0.5]"

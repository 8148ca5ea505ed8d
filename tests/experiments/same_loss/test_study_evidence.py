import numpy as np
import pytest

from ntpcompanion.experiments.same_loss import study_evidence as evidence
from ntpcompanion.experiments.same_loss import study_table as tables
from ntpcompanion.experiments.same_loss.downstream import Result
from ntpcompanion.mlm.evaluation.context_ablation import ContextGaps
from ntpcompanion.statistics.effects import Effect, paired_effect
from tests.experiments.same_loss.test_study_table import SEEDS, TABLE, rows

PENALTIES = [-0.1, 0.0, 0.1]


def table_of(*models):
    return tables.study_table([Result(models=models, references={}, device="cpu")], 0.8)


def test_a_dose_is_shown_with_its_loss_and_its_points():
    (found,) = evidence.doses(TABLE, "penalty", [0.1], {"probe": "projected"}, 1).values()
    assert found["dose"].mean == pytest.approx(-1.0)
    assert found["loss"].mean == pytest.approx(100 * 0.020 / 0.8)
    assert found["probe"].mean == pytest.approx(-1.0)


def test_a_slope_across_widths_has_its_own_line_for_each_seed():
    """Traces e^0, e^1, e^2 times those of a seed, and three points for each."""
    widths = [table_of(*rows("saturated", 0.0, 0.008, np.exp(k), -3.0 * k)) for k in range(3)]
    for trace in ("trace", "balanced"):
        found = evidence.slope_across(widths, trace, "projected", 1)
        assert (found.mean, found.replicates) == (pytest.approx(-3.0), len(SEEDS))


def test_leverage_is_how_far_the_slope_follows_an_arm():
    """If an arm's accuracy rises by one point, the slope changes by (x - mean) / Σ (x - mean)²."""
    shares = evidence.leverage(TABLE, "penalty", PENALTIES)
    assert sum(shares.values()) == pytest.approx(1)
    assert shares == pytest.approx({-0.1: 0.5, 0.0: 0.0, 0.1: 0.5})
    far = table_of(
        *rows("penalty", -0.1, 0.01, np.exp(5.0), 0.0),
        *rows("penalty", 0.0, 0.01, 1.0, 0.0),
        *rows("penalty", 0.1, 0.01, np.exp(-0.5), 0.0),
    )
    assert evidence.leverage(far, "penalty", PENALTIES)[-0.1] == pytest.approx(0.66, abs=0.01)


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


def test_the_gaps_of_a_language_have_the_error_of_the_sentences():
    gaps = ContextGaps(3.25, 0.003, 4.07, 4.05, 3.4, 0.004)
    found = evidence.gap_effects(gaps, 100)
    own, beside = found["learnable gap"], found["neighbours' gap"]
    assert (own.mean, own.stderr, own.replicates) == (gaps.learnable_gap, 0.003, 100)
    assert own.sd == pytest.approx(0.03)
    assert (beside.mean, beside.stderr) == (gaps.neighbours_gap, pytest.approx(0.005))

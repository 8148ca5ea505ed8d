import numpy as np
import pytest

from ntpcompanion.experiments.generalization import feature_strengths
from ntpcompanion.experiments.generalization.feature_strengths import COMPARED, Plan
from ntpcompanion.randomness import stream
from tests.experiments.cases import check_wrong_fields, small_run

RIGHT = {"radii": [0.1, 0.4], "losses": [0.2, 0.1], "examples": 60, "seeds": 3, "start": 0.6}
RIGHT |= {"seed": 0}
WRONG = {
    "radii": ([0.4, 0.1], r"`radii` must rise, got \[0.4, 0.1\]"),
    "losses": ([0.1, 0.2], r"`losses` must fall, got \[0.1, 0.2\]"),
}


def test_every_wrong_field_is_named():
    check_wrong_fields(Plan, RIGHT, WRONG)


found, test_a_result_repeats_and_is_plain = small_run(feature_strengths, RIGHT)


def test_descent_is_that_of_four_numbers(found):
    """Gradient descent written out, until the loss falls to the level."""
    rng = stream(0, "data")
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    X = y[:, None] * [2.0, 1.0] + [0.3, 0.8] * rng.standard_normal((3, 60, 2))[0]
    u, v = np.full(2, 0.6), np.full(2, 0.6)
    while True:
        margin = y * (X @ (u * v))
        if (loss := np.logaddexp(0, -margin).mean()) <= 0.2:
            break
        pull = (y / (1 + np.exp(margin))) @ X / 60
        u, v = u + 0.02 * pull * v, v + 0.02 * pull * u
    first = found.models[0]
    assert (first.model, first.loss, first.rho, first.seed) == ("SAM", 0.2, 0.0, 0)
    assert (first.easy, first.hard, first.reached) == pytest.approx((*u, loss))


def test_sam_learns_more_of_the_hard_feature_and_controls_do_not(found):
    assert found.slope("SAM", "ratio").mean > 0
    assert found.slope("SAM of the last layer", "ratio").mean > 0
    assert np.abs(found.of("exchangeable", "ratio") - 1).max() < 1e-12
    assert abs(found.slope("useless", "hard").mean) < found.slope("SAM", "hard").mean + 0.5
    assert found.gini_change.mean < 0 < found.tilt_change.mean
    assert 0 < found.missed < 5


def test_columns_are_read_by_training_loss_radius_and_seed(found):
    ratio = found.of("SAM", "ratio")
    assert ratio.shape == (2, 3, 3)
    wide = found.ratios
    assert wide.index.get_level_values("model").unique().tolist() == list(COMPARED)
    assert wide.loc["SAM", 0.2, 0.4].tolist() == ratio[0, 2].tolist()
    hard = found.of("SAM", "hard")[1].mean(1)
    assert found.change("SAM", "hard") == pytest.approx(100 * (hard[2] / hard[0] - 1))


def test_traces_are_those_of_the_hessian_and_the_proposition_has_no_exception(found):
    assert found.trace_error < 1e-10
    assert found.exceptions == 0
    trace = found.of("SAM", "trace")[1]
    assert found.trace_change("SAM").mean == pytest.approx(100 * (trace[2] / trace[0] - 1).mean())
    assert len(found.ascended_trace) == 3
    assert np.isfinite(found.trace_ascent.mean)

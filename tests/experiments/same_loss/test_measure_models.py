import pytest
import torch

from ntpcompanion.experiments.same_loss import measure_models
from ntpcompanion.experiments.same_loss.interventions import Arm, Measured
from ntpcompanion.experiments.same_loss.measure_models import divergences, measure_arm, with_slopes
from ntpcompanion.experiments.same_loss.study_suite import SuitePlan, draw_study_suite
from ntpcompanion.mlm.evaluation.evaluate import evaluate
from ntpcompanion.mlm.probes.converged_probe import ConvergedProbe
from ntpcompanion.networks.stack import initial_stack
from tests.mlm.cases import SMALL, TRANSFORMER

PLAN = SuitePlan((1, 2), (60, 40), 100, 16, 1, ConvergedProbe(4, 2, 10, 2, ridges=(0.1,)))
SUITE = draw_study_suite(SMALL.build(), 4, PLAN, 0, torch.device("cpu"))
STACK = initial_stack(TRANSFORMER, [0, 1, 2], deviation=0.3)


def arm(measured):
    return Arm("untrained", [0.0, 0.0, 1.0], [0, 1, 2], STACK, measured)


def test_divergences_are_those_of_each_model():
    found = divergences(STACK, SUITE.test)
    for row in range(3):
        expected = evaluate(STACK.model(row), SUITE.test)
        assert float(found[row].mean()) == pytest.approx(expected.kl, rel=1e-5)


def test_a_model_is_measured_by_what_its_arm_says():
    for measured, positions in zip(Measured, (set(), {1}, {1, 2}), strict=True):
        found = measure_arm(arm(measured), SUITE)
        assert [set(model.tasks) for model in found] == [positions] * 3
        assert [(m.strength, m.seed, m.width) for m in found] == [
            (0.0, 0, 8),
            (0.0, 1, 8),
            (1.0, 2, 8),
        ]


def test_the_number_measured_together_does_not_matter(monkeypatch):
    together = measure_arm(arm(Measured.FIRST), SUITE)
    monkeypatch.setitem(measure_models.MODELS_PER_BATCH, "cpu", (2, 8))
    for first, second in zip(together, measure_arm(arm(Measured.FIRST), SUITE), strict=True):
        assert first.trace == pytest.approx(second.trace, rel=1e-5)
        assert first.excess == second.excess
        assert first.tasks[1].full == pytest.approx(second.tasks[1].full, abs=1e-6)


def test_slopes_are_added_to_the_measurements():
    plain = measure_arm(arm(Measured.LOSS), SUITE)
    for before, after in zip(plain, with_slopes(STACK, plain, SUITE), strict=True):
        assert before.slope is None
        assert after.slope_stderr > 0
        assert (before.trace, before.excess) == (after.trace, after.excess)

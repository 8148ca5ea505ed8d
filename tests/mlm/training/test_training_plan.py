from dataclasses import replace
from fractions import Fraction

import pytest

from ntpcompanion.mlm.training.training_plan import TrainingPlan
from tests.mlm.cases import SHORT


def test_micro_batches_divide_the_batch():
    words = "`micro_batch` must divide `batch_size` = 8, or be 0 for all of it, got 3"
    with pytest.raises(ValueError, match=words):
        replace(SHORT, micro_batch=3)


def test_the_rate_rises_and_falls_along_straight_lines():
    plan = TrainingPlan(steps=100, batch_size=1, learning_rate=1.0, warmup=0.2)
    expected = [Fraction(s + 1, 20) if s < 20 else Fraction(100 - s, 80) for s in range(100)]
    assert [plan.rate_at(s) for s in range(100)] == pytest.approx(
        [float(rate) for rate in expected], rel=1e-15
    )


def test_a_constant_rate_stays_after_the_warm_up():
    plan = TrainingPlan(steps=50, batch_size=1, learning_rate=0.5, warmup=0.12, schedule="constant")
    assert [plan.rate_at(s) for s in (0, 5, 6, 49)] == pytest.approx([0.5 / 6, 0.5, 0.5, 0.5])
    assert replace(plan, warmup=0.0).rate_at(0) == 0.5


def test_micro_batches_are_counted():
    assert SHORT.micro_batches == 1
    assert replace(SHORT, micro_batch=2).micro_batches == 4

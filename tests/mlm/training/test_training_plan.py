from dataclasses import replace
from fractions import Fraction

import pytest

from ntpcompanion.mlm.training.training_plan import TrainingPlan
from tests.mlm.cases import SHORT


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"batch_size": 0}, "`batch_size` must be at least 1, got 0"),
        ({"steps": -1}, "`steps` must be at least 1, got -1"),
        (
            {"micro_batch": 3},
            "`micro_batch` must divide `batch_size` = 8, or be 0 for all of it, got 3",
        ),
        (
            {"micro_batch": -8},
            "`micro_batch` must be at least 0, got -8",
        ),
        ({"learning_rate": float("nan")}, "`learning_rate` must be positive and finite, got nan"),
        ({"learning_rate": 0.0}, "`learning_rate` must be positive and finite, got 0.0"),
        ({"betas": (0.9, 1.0)}, "`betas` must be at least 0 and below 1, got 1.0"),
        ({"betas": (-0.1, 0.5)}, "`betas` must be at least 0, got -0.1"),
        ({"warmup": 1.0}, "`warmup` must be at least 0 and below 1, got 1.0"),
        ({"mask_share": 1.5}, "`mask_share` must be at least 0 and below 1, got 1.5"),
        ({"weight_decay": -1.0}, "`weight_decay` must be at least 0, got -1.0"),
        ({"epsilon": float("inf")}, "`epsilon` must be a finite number, got inf"),
        ({"seed": -1}, "`seed` must be at least 0, got -1"),
    ],
)
def test_a_training_that_does_not_fit_is_refused_by_name(change, words):
    with pytest.raises(ValueError, match=words):
        replace(SHORT, **change)


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

from dataclasses import asdict, replace
from fractions import Fraction

import pytest
import torch

from ntpcompanion.languages.hmm import HMM
from ntpcompanion.languages.pcfg import PCFG
from ntpcompanion.mlm.plan import LanguagePlan, ModelPlan, TrainingPlan
from tests.mlm.cases import MIXED, SHORT, SMALL, TRANSFORMER


def test_a_language_plan_builds_the_language_of_its_sizes():
    hmm, pcfg = SMALL.build(), MIXED.build()
    assert isinstance(hmm, HMM)
    assert (hmm.num_states, hmm.vocab_size, hmm.length) == (2, 6, 4)
    assert hmm.transition.diag().tolist() == [1.0, 1.0]  # two blocks of one state
    assert isinstance(pcfg, PCFG)
    assert (pcfg.num_symbols, pcfg.vocab_size, pcfg.longest) == (6, 8, 4)
    assert torch.equal(hmm.emission, SMALL.build().emission)
    assert not torch.equal(hmm.emission, replace(SMALL, seed=1).build().emission)


def test_a_grammar_whose_length_is_not_that_of_its_depth_is_refused():
    with pytest.raises(
        ValueError, match="`length` of a grammar with `parts` = 3 levels must be 4, got 5"
    ):
        replace(MIXED, length=5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"heads": 3}, "`heads` must divide `width` = 8, got 3"),
        ({"layers": 0}, "`layers` must be a whole number of at least 1, got 0"),
        ({"inner": 0}, "`inner` must be a whole number of at least 1, got 0"),
        ({"kind": "lstm"}, "`heads` and `inner` of an LSTM must be 1 and 0, got 2 and 16"),
        (
            {"kind": "lstm", "heads": 1, "inner": 0, "width": 7},
            "`width` of an LSTM must be even, one half for each direction, got 7",
        ),
    ],
)
def test_a_model_that_does_not_fit_is_refused_by_name(change, words):
    with pytest.raises(ValueError, match=words):
        replace(TRANSFORMER, **change)


def test_a_value_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="`kind` must be one of transformer, lstm, got 'bert'"):
        _unchecked(ModelPlan, asdict(TRANSFORMER), kind="bert")
    with pytest.raises(ValueError, match="`family` must be one of hmm, pcfg, got 'opt'"):
        _unchecked(LanguagePlan, asdict(SMALL), family="opt")
    with pytest.raises(ValueError, match=r"`width` must be a whole number of at least 1, got 8\.0"):
        _unchecked(ModelPlan, asdict(TRANSFORMER), width=8.0)


def _unchecked(plan_type, values, **changes):
    """A plan whose annotations were not checked, as outside of pytest."""
    plan = object.__new__(plan_type)
    for name, value in {**values, **changes}.items():
        object.__setattr__(plan, name, value)
    plan.__post_init__()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"batch": 0}, "`batch` must be a whole number of at least 1, got 0"),
        ({"steps": -1}, "`steps` must be a whole number of at least 1, got -1"),
        ({"micro_batch": 3}, "`micro_batch` must divide `batch` = 8, or be 0 for all of it, got 3"),
        (
            {"micro_batch": -8},
            "`micro_batch` must divide `batch` = 8, or be 0 for all of it, got -8",
        ),
        ({"rate": float("nan")}, "`rate` must be positive and finite, got nan"),
        ({"rate": 0.0}, "`rate` must be positive and finite, got 0.0"),
        ({"betas": (0.9, 1.0)}, "`betas` must be at least 0 and below 1, got 1.0"),
        ({"betas": (-0.1, 0.5)}, "`betas` must be at least 0 and below 1, got -0.1"),
        ({"warmup": 1.0}, "`warmup` must be at least 0 and below 1, got 1.0"),
        ({"mask_share": 1.5}, "`mask_share` must be at least 0 and below 1, got 1.5"),
        ({"weight_decay": -1.0}, "`weight_decay` must not be negative, and finite, got -1.0"),
        ({"epsilon": float("inf")}, "`epsilon` must not be negative, and finite, got inf"),
        ({"seed": -1}, "`seed` must not be negative, got -1"),
    ],
)
def test_a_training_that_does_not_fit_is_refused_by_name(change, words):
    with pytest.raises(ValueError, match=words):
        replace(SHORT, **change)


def test_the_rate_rises_and_falls_along_straight_lines():
    plan = TrainingPlan(steps=100, batch=1, rate=1.0, warmup=0.2)
    expected = [Fraction(s + 1, 20) if s < 20 else Fraction(100 - s, 80) for s in range(100)]
    assert [plan.rate_at(s) for s in range(100)] == pytest.approx(
        [float(rate) for rate in expected], rel=1e-15
    )


def test_a_constant_rate_stays_after_the_warm_up():
    plan = TrainingPlan(steps=50, batch=1, rate=0.5, warmup=0.12, schedule="constant")
    assert [plan.rate_at(s) for s in (0, 5, 6, 49)] == pytest.approx([0.5 / 6, 0.5, 0.5, 0.5])
    assert replace(plan, warmup=0.0).rate_at(0) == 0.5


def test_micro_batches_are_counted():
    assert SHORT.micro_batches == 1
    assert replace(SHORT, micro_batch=2).micro_batches == 4

"""Prompts by their definition, and a network that learns facts."""

import numpy as np
import pytest

from ntpcompanion.experiments.adaptation import pruned_transformer
from ntpcompanion.experiments.adaptation.pruned_transformer import (
    PARTS,
    TASKS,
    draw_prompts,
    tolerated_sparsity,
)

PLAN = pruned_transformer.Plan(
    facts=12,
    fresh=6,
    values=5,
    pairs=4,
    width=32,
    layers=1,
    steps=300,
    batch_size=16,
    learning_rate=1e-2,
    tested=40,
    sparsities=(0.5, 0.9),
    seed=0,
)


@pytest.fixture(scope="module")
def result():
    return pruned_transformer.run(PLAN)


def test_answers_are_those_of_the_prompt_or_of_the_facts(rng):
    value = rng.integers(PLAN.values, size=PLAN.facts)
    prompts = draw_prompts(PLAN, value, 200, rng)
    first = PLAN.facts + PLAN.fresh
    for pairs, keys, answers in zip(prompts.pairs, prompts.keys, prompts.answers, strict=True):
        written = dict(pairs.tolist())
        assert len(written) == PLAN.pairs  # no key stands twice
        assert len(set(keys.tolist())) == 6
        for key, answer in zip(keys[:2], answers[:2], strict=True):  # recall
            assert key < PLAN.facts
            assert key not in written
            assert answer == first + value[key]
        for key, answer in zip(keys[2:], answers[2:], strict=True):
            assert answer == written[key]
        assert (keys[2:4] >= PLAN.facts).all()  # copying
        assert all(answers[4:] != first + value[keys[4:]])  # overriding


def test_every_part_is_measured_in_every_task(result):
    assert len(result.table) == len(PARTS) * len(TASKS) * 3
    start = result.table[result.table.sparsity == 0].pivot(
        index="part", columns="task", values="accuracy"
    )
    assert (start.nunique() == 1).all()  # the same network
    assert start["recall"].iloc[0] > 0.5  # chance is a fifth


def test_pruning_everything_leaves_less(result):
    recall = result.table[(result.table.task == "recall") & (result.table.part == "all")]
    assert recall.accuracy.iloc[-1] < recall.accuracy.iloc[0] - 0.1
    assert set(result.tolerated()) == {(part, task) for part in PARTS for task in TASKS}


def test_equal_plans_give_equal_results():
    plan = PLAN.model_copy(update={"steps": 5})
    assert pruned_transformer.run(plan) == pruned_transformer.run(plan)


@pytest.mark.parametrize(
    ("accuracies", "expected"),
    [([1, 1, 1], 0.4), ([1, 0.96, 0.9], 0.2), ([1, 0.9, 1], 0.0), ([0.5, 0.48, 0.47], 0.2)],
)
def test_tolerated_sparsity_ends_at_the_first_loss(accuracies, expected):
    assert tolerated_sparsity(np.array([0, 0.2, 0.4]), np.array(accuracies)) == expected

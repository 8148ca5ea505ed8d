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
    fresh=10,
    values=8,
    pairs=4,
    width=48,
    layers=2,
    deviation=0.2,
    steps=400,
    learning_rate=5e-3,
    tested=100,
    sparsities=(0.5, 0.95),
    seed=0,
)


@pytest.fixture(scope="module")
def result():
    return pruned_transformer.run(PLAN.model_copy(update={"pairs": 2}))


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


@pytest.fixture(scope="module")
def accuracies(result):
    """A row for each sparsity: 0, .5, .95; a column for each part and task."""
    return result.table.pivot(index="sparsity", columns=["part", "task"], values="accuracy")


def test_the_network_learns_all_three_tasks(accuracies):
    """Chance is an eighth, or a half if only the values of the prompt are known."""
    assert (accuracies.loc[0.0] > 0.9).all()
    assert (accuracies.loc[0.0].groupby("task").nunique() == 1).all()  # no part pruned: the same


def test_every_part_is_measured_in_every_task(result, accuracies):
    cases = {(part, task) for part in PARTS for task in TASKS}
    assert set(accuracies.columns) == cases == set(result.tolerated())
    assert accuracies.notna().all(axis=None)


def test_a_sparse_network_forgets(accuracies):
    """With a twentieth of all weights more than a third of the facts are lost, and the prompt is
    used less often than half of the time, which is as good as guessing one of its two values.
    """
    sparse = accuracies.loc[0.95, "all"]
    assert sparse["recall"] < 0.65
    assert max(sparse["copying"], sparse["overriding"]) < 0.5


def test_only_the_named_matrices_are_pruned(accuracies):
    """Facts need no attention and the prompt does, so that a network without attention recalls as
    before and does not copy; if feed-forward matrices were pruned too, it would recall less.
    """
    sparse = accuracies.loc[0.95]
    assert sparse["attention", "recall"] > 0.8 > 0.65 > sparse["feed-forward", "recall"]
    assert sparse["attention", "copying"] < 0.5 < sparse["feed-forward", "copying"]


def test_equal_plans_give_equal_results():
    plan = PLAN.model_copy(update={"steps": 5})
    assert pruned_transformer.run(plan) == pruned_transformer.run(plan)


@pytest.mark.parametrize(
    ("accuracies", "expected"),
    [([1, 1, 1], 0.4), ([1, 0.96, 0.9], 0.2), ([1, 0.9, 1], 0.0), ([0.5, 0.48, 0.47], 0.2)],
)
def test_tolerated_sparsity_ends_at_the_first_loss(accuracies, expected):
    assert tolerated_sparsity(np.array([0, 0.2, 0.4]), np.array(accuracies)) == expected

from dataclasses import replace

import pytest
import torch
from sklearn.linear_model import Ridge

from ntpcompanion.mlm.curvature.example_gradients import log_trace
from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
from ntpcompanion.mlm.data.language_plans import HMMPlan
from ntpcompanion.mlm.data.stacked_sentences import draw_steps
from ntpcompanion.mlm.training import stacked_training
from ntpcompanion.mlm.training.regularizers import (
    AdversarialPlan,
    adversary,
    solved_head,
    trace_penalty,
)
from ntpcompanion.mlm.training.stacked_training import train_stack
from ntpcompanion.networks.stack import Stack, initial_stack
from tests.mlm.cases import SHORT, SMALL, TRANSFORMER, generator

LARGER = HMMPlan(3, 6, 4)
LANGUAGE = SMALL.build()
TOKENS, STATES = LANGUAGE.sample_with_states(60, generator())
DOWNSTREAM = LabelledExamples(TOKENS, STATES[:, 0], 2)
SEEDS = (1, 1, 2)
STACK = initial_stack(TRANSFORMER, SEEDS, deviation=0.3)
ATTACK = AdversarialPlan(0.5, ridge=2.0, first=12, second=8)
PLANS = [replace(ATTACK, weight=w) for w in (0.0, 0.5, 0.5)]


def batch():
    steps = draw_steps(LANGUAGE, [1], "test", 0, batch_size=8, positions=4, labels="drawn")
    return steps[0].tokens[0], steps[0].positions[0]


def value(term, row, drawn):
    own = {name: p[row] for name, p in STACK.parameters.items()}
    return term.value(STACK.network, own, *batch(), *(x[row] for x in drawn))


@pytest.mark.parametrize(
    "term",
    [trace_penalty(torch.tensor([0.0, 0.2, 0.2]), SEEDS, 8), adversary(PLANS, SEEDS, DOWNSTREAM)],
    ids=["penalty", "adversary"],
)
def test_a_weight_of_zero_changes_nothing(term):
    *_, with_term = train_stack(STACK, SHORT, LANGUAGE, SEEDS, "test", term=term)
    *_, without = train_stack(STACK, SHORT, LANGUAGE, SEEDS, "test")
    for name, p in with_term.stack.parameters.items():
        plain = without.stack.parameters[name]
        torch.testing.assert_close(p[0], plain[0], rtol=0, atol=1e-6)
    moved = (
        with_term.stack.parameters["words.weight"][1] - without.stack.parameters["words.weight"][1]
    )
    assert moved.abs().max() > 1e-4


def test_the_penalty_is_the_logarithm_of_the_trace():
    term = trace_penalty(torch.ones(3), SEEDS, 8)
    drawn = term.draw(0)
    own = {name: p[0] for name, p in STACK.parameters.items()}
    expected = log_trace(STACK.network, own, *batch(), drawn[0][0])
    torch.testing.assert_close(value(term, 0, drawn), expected)


def test_networks_of_one_seed_share_what_is_drawn():
    for term in (trace_penalty(torch.ones(3), SEEDS, 8), adversary(PLANS, SEEDS, DOWNSTREAM)):
        for part in term.draw(70):
            assert torch.equal(part[0], part[1])
            assert not torch.equal(part[0], part[2])


def test_steps_draw_anew_and_can_be_repeated():
    term = adversary(PLANS, SEEDS, DOWNSTREAM)
    first, later = term.draw(3)[0].clone(), term.draw(64)[0]
    assert not torch.equal(first, later)
    assert torch.equal(first, term.draw(3)[0])


def test_the_adversary_measures_the_validation_loss_of_a_ridge_head():
    term = adversary(PLANS, SEEDS, DOWNSTREAM)
    assert term.weights.tolist() == [0.0, -0.5, -0.5]
    tokens, onehot = term.draw(0)
    for row in range(3):
        vectors = STACK.model(row).features(tokens[row])[:, -4:].flatten(1).double().detach()
        fitted, kept = vectors.split([12, 8])
        head = Ridge(alpha=2.0, fit_intercept=False, solver="svd").fit(fitted, onehot[row, :12])
        expected = (torch.from_numpy(head.predict(kept)) - onehot[row, 12:]).square().sum(1).mean()
        assert float(value(term, row, (tokens, onehot))) == pytest.approx(float(expected), rel=1e-5)


def test_the_two_sets_of_an_adversary_are_disjoint():
    numbered = LabelledExamples(torch.arange(60)[:, None].expand(60, 4), DOWNSTREAM.labels, 2)
    chosen = adversary(PLANS, SEEDS, numbered).draw(5)[0][:, :, 0]
    assert chosen.shape == (3, 20)
    assert all(len(row.unique()) == 20 for row in chosen)


def test_plans_that_differ_in_more_than_the_weight_are_refused():
    with pytest.raises(ValueError, match="`plans` must differ in `weight` only"):
        adversary([ATTACK, replace(ATTACK, ridge=1.0)], SEEDS, DOWNSTREAM)


def test_more_examples_than_there_are_are_refused():
    many = [replace(ATTACK, first=50, second=11)] * 3
    with pytest.raises(ValueError, match="= 61 must be at most the 60 downstream examples"):
        adversary(many, SEEDS, DOWNSTREAM)


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
        ),
    ],
)
@pytest.mark.parametrize("kind", ["penalty", "adversary"])
def test_a_step_that_is_captured_is_the_step_that_is_computed(monkeypatch, kind, device):
    language = LANGUAGE.to(torch.device(device))
    start = Stack(STACK.plan, {name: p.to(device) for name, p in STACK.parameters.items()})
    there = LabelledExamples(TOKENS.to(device), DOWNSTREAM.labels.to(device), 2)

    def trained():
        if kind == "adversary":
            term = adversary(PLANS, SEEDS, there)
        else:
            term = trace_penalty(torch.tensor([0.0, 0.2, -0.2], device=device), SEEDS, 8)
        *_, end = train_stack(start, SHORT, language, SEEDS, "test", term=term)
        return end

    graph = trained()
    monkeypatch.setattr(stacked_training, "as_cuda_graph", lambda compute, _: compute)
    plain = trained()
    torch.testing.assert_close(graph.term, plain.term, rtol=1e-5, atol=1e-6)
    for name, p in graph.stack.parameters.items():
        torch.testing.assert_close(p, plain.stack.parameters[name], rtol=0, atol=1e-5)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


@pytest.mark.parametrize(("n", "d"), [(20, 5), (5, 20), (7, 7), (1, 3)])
@pytest.mark.parametrize("ridge", [0.01, 3.0])
def test_the_head_is_that_of_scikit_learn(n, d, ridge):
    features, targets = random(n, d), random(n, 3, seed=1)
    theirs = (
        Ridge(alpha=ridge, fit_intercept=False, solver="svd")
        .fit(features.numpy(), targets.numpy())
        .coef_.T
    )
    assert solved_head(features, targets, ridge)[0].numpy() == pytest.approx(theirs, abs=1e-10)


@pytest.mark.parametrize(("n", "d"), [(6, 3), (3, 6)])
def test_the_derivative_through_the_head_is_that_of_finite_differences(n, d):
    features, targets = random(n, d).requires_grad_(), random(n, 2, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda h, y: solved_head(h, y, 0.3)[0], (features, targets))

from dataclasses import replace

import pytest
import torch

from ntpcompanion.mlm.data.stacked_sentences import draw_steps
from ntpcompanion.mlm.training.stacked_training import StackedTerm, train_stack
from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.stack import initial_stack
from tests.mlm.cases import SHORT, SMALL, TRANSFORMER

LANGUAGE = SMALL.build()
# A key's bias moves no logit: its gradient is rounding, which Adam scales up unless ε is above it.
SHORT = replace(SHORT, epsilon=1e-3)
SEEDS = (4, 0, 9)


def states(plan=SHORT, seeds=SEEDS, start=None, **options):
    start = start or initial_stack(TRANSFORMER, seeds, deviation=0.3)
    return list(train_stack(start, plan, LANGUAGE, seeds, "test", **options))


def numbers(state, row):
    return {name: p.detach()[row] for name, p in state.stack.parameters.items()}


def largest_gap(first, second):
    return max(float((first[name] - second[name]).detach().abs().max()) for name in first)


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_stack_takes_the_steps_that_each_network_takes_alone(optimizer):
    plan = replace(SHORT, optimizer=optimizer)
    together = states(plan)[-1]
    for row, seed in enumerate(SEEDS):
        alone = states(plan, (seed,))[-1]
        assert largest_gap(numbers(together, row), numbers(alone, 0)) < 1e-6


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_network_takes_the_steps_of_a_plain_loop(optimizer):
    plan = replace(SHORT, optimizer=optimizer, weight_decay=0.1, warmup=0.5)
    model = build_model(TRANSFORMER, 4, deviation=0.3)
    named = list(model.named_parameters())
    decays = [p for name, p in named if p.ndim == 2 and not name.startswith("places")]
    others = [p for name, p in named if not any(p is q for q in decays)]
    groups = [{"params": decays}, {"params": others, "weight_decay": 0.0}]
    steps = {
        "sgd": lambda: torch.optim.SGD(model.parameters(), 1.0),
        "adamw": lambda: torch.optim.AdamW(groups, 1.0, plan.betas, plan.epsilon, 0.1),
    }[optimizer]()
    batches = draw_steps(LANGUAGE, [4], "test", 0, batch_size=8, positions=4, labels="exact")
    for step in range(plan.steps):
        for group in steps.param_groups:
            group["lr"] = plan.rate_at(step)
        tokens, at, targets = (x[0] for x in vars(batches[step]).values())
        loss = -(targets * model(tokens, at)[:, 0].log_softmax(1)).sum(1).mean()
        steps.zero_grad()
        loss.backward()
        steps.step()
    found = states(plan, (4,), labels="exact")[-1]
    assert largest_gap(numbers(found, 0), dict(named)) < 1e-6


def test_networks_of_one_seed_see_the_same_sentences():
    start = initial_stack(TRANSFORMER, [2, 2])
    first, last = states(start=start, seeds=(5, 5), eval_steps=[1])
    for state in (first, last):
        assert torch.equal(state.loss[0], state.loss[1])


def test_rates_multiply_the_learning_rate():
    plan = replace(SHORT, optimizer="sgd", schedule="constant", warmup=0.0)
    start = initial_stack(TRANSFORMER, [1, 1, 1])
    found = states(plan, (3, 3, 3), start, rates=(0.0, 1.0, 0.5))[-1]
    still = {name: p[0] for name, p in start.parameters.items()}
    assert largest_gap(numbers(found, 0), still) == 0
    for row, rate in ((1, 1.0), (2, 0.5)):
        slower = replace(plan, learning_rate=rate * plan.learning_rate)
        alone = states(slower, (3,), start.take([row]))[-1]
        assert largest_gap(numbers(found, row), numbers(alone, 0)) < 1e-6


def test_a_term_adds_its_weighted_gradient():
    """With the value b₀ of the decoder's bias, the gradient is the weight."""
    plan = replace(SHORT, steps=1, optimizer="sgd", schedule="constant", warmup=0.0)
    start = initial_stack(TRANSFORMER, [1, 1])
    term = StackedTerm(
        torch.tensor([0.0, 3.0]),
        lambda step: (torch.full((2,), 2.0 + step),),
        lambda network, parameters, tokens, at, factor: factor * parameters["bias"][0],
    )
    found = states(plan, (3, 3), start, term=term)[-1].stack.parameters["bias"].detach()
    apart = found[1] - found[0]
    expected = torch.zeros(6)
    expected[0] = -plan.learning_rate * 3.0 * 2.0
    torch.testing.assert_close(apart, expected)


def test_losses_and_terms_are_means_since_the_state_before():
    all_steps = states(eval_steps=range(7))
    two = states(eval_steps=[2])
    assert [state.step for state in two] == [2, 6]
    assert all_steps[0].loss.isnan().all()
    late = torch.stack([state.loss for state in all_steps[3:]]).mean(0)
    torch.testing.assert_close(two[1].loss, late)
    assert not two[1].term.any()


def test_a_loss_that_is_not_finite_ends_the_training():
    start = initial_stack(TRANSFORMER, [1, 2])
    start.parameters["bias"][1] = torch.inf
    with pytest.raises(FloatingPointError, match=r"network 1 is nan .* Lower `learning_rate`"):
        states(seeds=(1, 2), start=start)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": (1, 2)}, "`seeds`"),
        ({"rates": (1.0,) * 3}, "`rates`"),
        (
            {"eval_steps": [7]},
            r"`eval_steps` must lie in 0 … 6, the `steps` of the plan, got \[7\]",
        ),
        ({"plan": replace(SHORT, mask_share=0.5)}, "`mask_share`"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        states(**{"start": initial_stack(TRANSFORMER, SEEDS), **options})


def test_another_vocabulary_is_refused():
    start = initial_stack(replace(TRANSFORMER, words=7), SEEDS)
    with pytest.raises(ValueError, match="`start`"):
        states(start=start)

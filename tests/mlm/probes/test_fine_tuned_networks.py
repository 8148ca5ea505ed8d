from copy import deepcopy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from ntpcompanion.mlm.data.special_tokens import padded_to
from ntpcompanion.mlm.probes.fine_tuned_networks import fine_tuned_stack
from ntpcompanion.mlm.probes.probe_plan import ProbePlan
from ntpcompanion.networks.stack import Stack, initial_stack
from tests.mlm.cases import LSTM, TRANSFORMER, generator

CLASSES, LENGTH = 3, 3  # sentences one word shorter than the networks have positions
PLAN = ProbePlan(learning_rate=1e-2, epochs=4, batch_size=8, warmup=5, weight_decay=0.3)


def stack(seeds=(1, 2), plan=TRANSFORMER):
    return initial_stack(plan, list(seeds), deviation=0.3)


def sentences(count, seed):
    return torch.randint(TRANSFORMER.words, (count, LENGTH), generator=generator(seed))


def task(examples=36):
    """Sentences labelled by their first word, with noise on the posterior."""
    train, test = sentences(examples, 1), sentences(40, 2)
    posterior = torch.rand(40, CLASSES, generator=generator(3)).softmax(1)
    return {"train": train, "labels": train[:, 0] % CLASSES, "test": test, "posterior": posterior}


def tuned(given=None, plan=PLAN, start=None, seed=7):
    return fine_tuned_stack(
        stack() if start is None else start, **given or task(), plan=plan, generator=generator(seed)
    )


def tuned_alone(network, given, plan, seed):
    """Forward pass of one network with its head, trained by a plain loop."""
    source, network = generator(seed), deepcopy(network)
    head = torch.nn.Linear(network.plan.width, CLASSES)
    with torch.no_grad():
        head.weight.copy_(0.02 * torch.randn(*head.weight.shape, generator=source))
        head.bias.zero_()

    def forward(tokens):
        return head(network.features(padded_to(tokens, network.plan.positions))[:, 0])

    steps = torch.optim.AdamW(
        [*network.parameters(), *head.parameters()], weight_decay=plan.weight_decay
    )
    step, examples = 0, len(given["labels"])
    size = min(plan.batch_size, examples)
    for _ in range(plan.epochs):
        order = torch.randperm(examples, generator=source)
        for first in range(0, examples - size + 1, size):
            batch = order[first : first + size]
            step += 1
            steps.param_groups[0]["lr"] = plan.learning_rate * min(1, step / plan.warmup)
            steps.zero_grad()
            F.cross_entropy(forward(given["train"][batch]), given["labels"][batch]).backward()
            steps.step()
    return forward


@pytest.mark.parametrize("batch_size", [8, 12, 500])
def test_each_network_is_tuned_as_by_a_plain_loop(batch_size):
    given, start, plan = task(), stack(), replace(PLAN, batch_size=batch_size)
    found = tuned(given, plan, start)
    for row in range(len(start)):
        forward = tuned_alone(start.model(row), given, plan, 7)
        with torch.no_grad():
            loss = F.cross_entropy(forward(given["train"]), given["labels"])
            best = forward(given["test"]).topk(2, 1)
        right = given["posterior"].gather(1, best.indices[:, :1]).mean()
        near_ties = (best.values[:, 0] - best.values[:, 1] < 1e-4).double().mean()
        assert float(found.training_loss[row]) == pytest.approx(float(loss), abs=1e-5)
        assert abs(float(found.final[row] - right)) <= 1e-6 + float(near_ties)


def test_halfway_is_the_end_of_half_of_the_epochs():
    whole, half = tuned(), tuned(plan=replace(PLAN, epochs=2))
    assert torch.equal(whole.halfway, half.final)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"start": stack(plan=LSTM)},
            "`stack` must hold transformers, not kind 'lstm': .*Use `trained_heads`",
        ),
        ({"plan": replace(PLAN, epochs=1)}, "`plan` must have 2 `epochs` or more, .* not 1, got"),
        ({"given": task() | {"train": torch.zeros(36, 9).long()}}, "`tokens` holds sentences of 9"),
        (
            {"given": task() | {"labels": torch.zeros(36).long()}},
            "`labels` must hold several classes, got .* Draw more",
        ),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        tuned(**change)


def test_a_loss_that_is_not_finite_is_refused():
    start = stack()
    start.parameters["words.weight"][1] = torch.nan
    with pytest.raises(FloatingPointError, match="training loss of network 1"):
        tuned(start=start)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_tunes_likewise():
    start = stack()
    there = Stack(start.plan, {name: p.cuda() for name, p in start.parameters.items()})
    found, expected = tuned(start=there), tuned(start=start)
    assert float((found.training_loss.cpu() - expected.training_loss).abs().max()) < 1e-4

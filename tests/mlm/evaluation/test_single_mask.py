from dataclasses import replace

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntpcompanion.flatness.hessian import FlatModule
from ntpcompanion.flatness.trace import fisher_trace, hutchinson_trace
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set, evaluate
from ntpcompanion.mlm.evaluation.single_mask import OneMask, population_loss
from ntpcompanion.networks.build_network import build_model
from tests.mlm.cases import MIXED, TRANSFORMER, generator

POSITIONS = 4


def case():
    language = MIXED.build()
    model = build_model(
        replace(TRANSFORMER, words=language.vocab_size, positions=POSITIONS), 3
    ).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(
                parameter.shape, generator=generator(), dtype=torch.float64
            )
    return model, draw_test_set(language, 40, POSITIONS, 0)


def test_the_hidden_word_is_found_from_the_tokens():
    model, test = case()
    assert torch.equal(OneMask(model)(test.tokens), model(test.tokens, test.at)[:, 0])
    assert [
        p is q for p, q in zip(OneMask(model).parameters(), model.parameters(), strict=True)
    ] == [True] * len([*model.parameters()])


def test_the_population_loss_is_entropy_plus_divergence():
    model, test = case()
    loss = population_loss(OneMask(model)(test.tokens), test)
    assert abs(float(loss.detach()) - evaluate(model, test).loss) < 1e-10


def test_the_fisher_trace_of_a_tied_transformer_is_that_of_its_gradients():
    model, test = case()
    flat = FlatModule(OneMask(model))
    expected = []
    for row in range(len(test.tokens)):
        log_law = OneMask(model)(test.tokens[row : row + 1])[0].log_softmax(0)
        grads = [
            torch.autograd.grad(entry, [*model.parameters()], retain_graph=True)
            for entry in log_law
        ]
        norms = torch.stack([sum(g.square().sum() for g in each) for each in grads])
        expected.append(float((log_law.detach().exp() * norms).sum()))
    found = fisher_trace(
        flat, flat.theta, test.tokens, labels_per_input=2000, generator=generator()
    )
    exact = sum(expected) / len(expected)
    spread = torch.tensor(expected).std() / len(expected) ** 0.5
    assert abs(found.value - exact) < 0.03 * exact
    assert abs(found.stderr - spread) < 0.1 * spread


@torch.no_grad()
def test_hutchinson_takes_the_population_loss():
    model, test = case()
    flat = FlatModule(OneMask(model))

    def loss(theta):
        return population_loss(flat(theta, test.tokens), test)

    step, theta = 1e-4, flat.theta
    losses = torch.func.vmap(loss, chunk_size=64)
    steps = step * torch.eye(len(theta), dtype=theta.dtype)
    with sdpa_kernel(SDPBackend.MATH):  # the one that vmap knows
        second = losses(theta + steps) - 2 * loss(theta) + losses(theta - steps)
    exact = float(second.sum()) / step**2
    found = hutchinson_trace(loss, flat.theta, probes=200, generator=generator())
    assert abs(found.value - exact) < 4 * found.stderr
    assert found.stderr < 0.2 * exact

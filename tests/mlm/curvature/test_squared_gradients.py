from dataclasses import replace

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntpcompanion.mlm.curvature.squared_gradients import (
    OneMask,
    fisher_by_parameter,
    population_loss,
    squares_by_group,
)
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set, evaluate
from ntpcompanion.mlm.training.enlarge import enlarge
from ntpcompanion.networks.build_network import build_model
from tests.mlm.cases import MIXED, SMALL, TRANSFORMER, generator
from tests.networks.cases import double


@pytest.fixture(scope="module")
def case():
    return double(TRANSFORMER), draw_test_set(SMALL.build(), 5, 4, 0)


def squares(model, tokens):
    """‖∇ log f(v | x)‖² for all sentences and words, as a function that can be differentiated."""
    parameters, rows = list(model.parameters()), []
    with sdpa_kernel(SDPBackend.MATH):
        log_model = OneMask(model)(tokens).log_softmax(1)
    for entry in log_model.flatten():
        gradients = torch.autograd.grad(entry, parameters, create_graph=True)
        rows.append(torch.cat([g.flatten() for g in gradients]).square().sum())
    return torch.stack(rows).view_as(log_model)


def test_groups_share_out_the_squares_at_the_likeliest_word(case):
    model, test = case
    groups = squares_by_group(model, test.tokens)
    likeliest = OneMask(model)(test.tokens).argmax(1, keepdim=True)
    expected = float(squares(model, test.tokens).gather(1, likeliest).mean().detach())
    assert sum(groups.values()) == pytest.approx(expected, rel=1e-12)
    assert min(groups.values()) > 0


def test_parameters_share_out_the_trace_of_the_fisher_information(case):
    model, test = case
    traces = fisher_by_parameter(model, test.tokens)
    log_model = OneMask(model)(test.tokens).log_softmax(1)
    expected = (log_model.exp() * squares(model, test.tokens)).sum(1).mean()
    assert traces.keys() == dict(model.named_parameters()).keys()
    assert sum(traces.values()) == pytest.approx(float(expected.detach()), rel=1e-12)


@pytest.mark.parametrize("k", [1, 2])
def test_an_added_layer_of_zeros_adds_the_trace_of_the_last_bias_twice(case, k):
    """Nothing between it and the decoder changes a gradient, and k copies each have 1/k of it."""
    model, test = case
    plan = replace(TRANSFORMER, width=8 * k, heads=2 * k, inner=16 * k)
    tokens = test.tokens[:2]
    small = fisher_by_parameter(model, tokens)
    wide = fisher_by_parameter(enlarge(model, plan, "balanced"), tokens)
    deep = fisher_by_parameter(enlarge(model, replace(plan, layers=4), "balanced"), tokens)
    added = {name: trace for name, trace in deep.items() if name not in wide}
    outputs = {f"blocks.{layer}.{part}.bias" for layer in (2, 3) for part in ("out", "down")}
    assert {name for name, trace in added.items() if trace} == outputs
    expected = small["blocks.1.down.bias"] / k
    assert [added[name] for name in outputs] == pytest.approx([expected] * 4, rel=1e-9)
    assert {name: deep[name] for name in wide} == pytest.approx(wide, rel=1e-9)


POSITIONS = 4


def random_case():
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
    model, test = random_case()
    assert torch.equal(OneMask(model)(test.tokens), model(test.tokens, test.positions)[:, 0])
    assert [
        p is q for p, q in zip(OneMask(model).parameters(), model.parameters(), strict=True)
    ] == [True] * len([*model.parameters()])


def test_the_population_loss_is_entropy_plus_divergence():
    model, test = random_case()
    loss = population_loss(OneMask(model)(test.tokens), test)
    assert abs(float(loss.detach()) - evaluate(model, test).loss) < 1e-10

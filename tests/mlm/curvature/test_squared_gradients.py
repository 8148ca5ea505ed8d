from dataclasses import replace

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntpcompanion.mlm.curvature.squared_gradients import fisher_by_parameter, squares_by_group
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set
from ntpcompanion.mlm.evaluation.single_mask import OneMask
from ntpcompanion.mlm.training.enlarge import enlarge
from tests.mlm.cases import SMALL, TRANSFORMER
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

from dataclasses import replace

import pytest
import torch

from ntpcompanion.mlm.training.optimizer import contiguous_gradients, optimizer_of
from ntpcompanion.networks.build_network import build_model
from tests.mlm.cases import SHORT, TRANSFORMER


@pytest.mark.parametrize("leading", [0, 1])
def test_matrices_decay_and_biases_gains_and_positions_do_not(leading):
    named = dict(build_model(TRANSFORMER, 0).named_parameters())
    stacked = {name: p.detach().expand((3,) * leading + p.shape) for name, p in named.items()}
    plan = replace(SHORT, weight_decay=0.3)
    decaying, others = optimizer_of(stacked, plan, leading=leading).param_groups
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.3, 0.0)
    found = {name for name, p in stacked.items() if any(p is q for q in decaying["params"])}
    weights = {name for name, p in named.items() if p.ndim == 2}
    assert found == weights - {"places.weight"}
    assert len(decaying["params"]) + len(others["params"]) == len(named)


def test_sgd_has_the_rate_of_the_plan():
    p = torch.zeros(2, requires_grad=True)
    (group,) = optimizer_of({"p": p}, replace(SHORT, optimizer="sgd")).param_groups
    assert (group["lr"], group["momentum"], group["weight_decay"]) == (SHORT.learning_rate, 0, 0)


def test_gradients_lie_in_memory_in_the_order_of_their_axes():
    weight = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    other = torch.arange(6.0, dtype=torch.float64).view(2, 3)
    (plain,) = torch.autograd.grad((weight.T * other).sum(), weight)
    (found,) = contiguous_gradients((weight.T * other).sum(), [weight])
    assert not plain.is_contiguous(), "else there is nothing to do"
    assert found.is_contiguous()
    assert torch.equal(found, other.T)

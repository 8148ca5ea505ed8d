"""Hessians and traces against curvlinops, which differentiates forward over reverse where we go
backward twice.

Without layer normalization: the forward derivative that torch 2.13 has for its gradient is wrong
(finite differences agree with ours).
"""

import warnings

import pytest
import torch
from torch import nn

from ntpcompanion.flatness.hessian import FlatModule, full_hessian, hessian_products
from ntpcompanion.flatness.trace_estimators import exact_trace, fisher_trace, hutchinson_trace
from tests.flatness.cases import initialized, masked_sentences, seeded

with warnings.catch_warnings():
    # a package that it imports, and torch's own forward derivatives, still compile functions by
    # torch.jit.script
    warnings.filterwarnings(
        "ignore", message="`torch.jit.script` is deprecated", category=DeprecationWarning
    )
    import curvlinops

pytestmark = pytest.mark.filterwarnings(
    "ignore:`torch.jit.script` is deprecated:DeprecationWarning"
)


def network():
    return nn.Sequential(
        nn.Embedding(5, 4), nn.Flatten(), nn.Linear(12, 6), nn.Tanh(), nn.Linear(6, 4)
    )


@pytest.fixture(scope="module")
def case():
    """A network in float64, its sentences with labels, and the mean cross-entropy as a function of
    its flat parameters.
    """
    module, tokens = initialized(network).double(), masked_sentences(9, 4, 3)
    labels, flat = torch.randint(4, (9,), generator=seeded()), FlatModule(module)
    return (
        module,
        flat,
        tokens,
        labels,
        lambda theta: nn.functional.cross_entropy(flat(theta, tokens), labels),
    )


def operator(kind, module, tokens, labels):
    parameters = [p for p in module.parameters() if p.requires_grad]
    return kind(
        module, nn.CrossEntropyLoss(), parameters, [(tokens, labels)], check_deterministic=False
    )


def test_the_hessian(case):
    module, flat, tokens, labels, loss = case
    peer = operator(curvlinops.HessianLinearOperator, module, tokens, labels)
    vectors = torch.randn(3, len(flat.theta), generator=seeded(), dtype=torch.float64)
    assert torch.allclose(
        hessian_products(loss, flat.theta, vectors), (peer @ vectors.T).T, atol=1e-12
    )
    identity = torch.eye(len(flat.theta), dtype=torch.float64)
    assert torch.allclose(full_hessian(loss, flat.theta), peer @ identity, atol=1e-12)
    assert exact_trace(loss, flat.theta).value == pytest.approx(
        float((peer @ identity).trace()), rel=1e-10
    )


def test_hutchinson(case):
    module, flat, tokens, labels, loss = case
    peer = operator(curvlinops.HessianLinearOperator, module, tokens, labels)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        theirs = sum(float(curvlinops.hutchinson_trace(peer, 100)) for _ in range(20)) / 20
    ours = hutchinson_trace(loss, flat.theta, probes=2000, generator=seeded())
    assert abs(ours.value - theirs) < 4 * 2**0.5 * ours.stderr  # as many probes on both sides
    assert ours.stderr < 0.1 * ours.value


def test_the_fisher_trace_is_that_of_the_generalized_gauss_newton_matrix(case):
    """For cross-entropy the two matrices are the same, whatever the labels."""
    module, flat, tokens, labels, _ = case
    peer = operator(curvlinops.GGNLinearOperator, module, tokens, labels)
    exact = float((peer @ torch.eye(len(flat.theta), dtype=torch.float64)).trace())
    found = fisher_trace(flat, flat.theta, tokens, labels_per_input=20_000, generator=seeded())
    assert found.value == pytest.approx(exact, rel=0.01)

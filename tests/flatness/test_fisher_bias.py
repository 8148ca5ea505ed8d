import numpy as np
import pytest
import torch
from torch.func import jacrev

from ntpcompanion.flatness.fisher_bias import fisher_bias
from ntpcompanion.flatness.hessian import full_hessian
from tests.flatness.cases import TOY_MODELS, hmm_network


def near(toy, size):
    """A point off the minimizer that a toy starts at."""
    return toy.start + size * torch.tensor(np.random.default_rng(0).standard_normal(len(toy.start)))


@pytest.mark.parametrize("size", [0.01, 0.3])
def test_the_bias_is_the_difference_of_the_traces_and_below_its_bound(size):
    """Against the full Hessian and a loop over labels."""
    toy = hmm_network(np.random.default_rng(0), vocab=2, length=2, width=8)
    theta = near(toy, size)
    found = fisher_bias(toy.model, theta)
    slopes = jacrev(toy.model.log_probabilities)(theta)
    fisher = 0.0
    for x, weight in enumerate(toy.model.weight):
        for v, log_probability in enumerate(toy.model.log_probabilities(theta)[x]):
            fisher += float(weight * log_probability.exp() * slopes[x, v].square().sum())
    assert found.fisher == pytest.approx(fisher, rel=1e-12)
    assert found.bias == pytest.approx(
        float(full_hessian(toy.model.loss, theta).trace()) - fisher, rel=1e-8
    )
    assert 1e-3 < abs(found.bias) <= found.bound
    assert found.excess == pytest.approx(float(toy.model.excess(theta)))


@pytest.mark.parametrize("name", ["bernoulli", "softmax", "linear"])
@pytest.mark.parametrize("size", [0.01, 0.3])
def test_there_is_no_bias_where_logits_are_products_of_parameters(name, size):
    """Their second derivatives have no diagonal, so Δ log f_v is the same for every label, and Σ_v
    (f_v − Pr_v) = 0.
    """
    toy = TOY_MODELS[name]()
    theta = near(toy, size)
    found = fisher_bias(toy.model, theta)
    laplacian = found.bound / (2 * found.excess) ** 0.5  # the largest of them
    terms = len(theta) * toy.model.log_probabilities(theta).numel()
    assert abs(found.bias) <= 4 * terms * torch.finfo(theta.dtype).eps * laplacian
    assert float(full_hessian(toy.model.loss, theta).trace()) == pytest.approx(
        found.fisher, rel=1e-12
    )
    assert found.bound > 1e-4, "the bound would allow a bias"

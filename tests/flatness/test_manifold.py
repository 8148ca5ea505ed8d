import numpy as np
import pytest
import torch

from ntpcompanion.flatness.hessian import full_hessian
from ntpcompanion.flatness.manifold import nearest_minimizer, numerical_rank, tangent_basis
from ntpcompanion.flatness.model import ConditionalModel
from ntpcompanion.flatness.toy_models import bernoulli, softmax_product, sparse_linear
from tests.flatness.cases import TOY_MODELS, seeded

RANKS = {"bernoulli": 1, "softmax": 3, "network": 54, "linear": 9}


@pytest.mark.parametrize("name", TOY_MODELS)
def test_the_tangent_space_is_the_kernel_of_the_hessian(name):
    toy = TOY_MODELS[name]()
    space, hessian, d = (
        tangent_basis(toy.model, toy.start),
        full_hessian(toy.model.loss, toy.start),
        len(toy.start),
    )
    assert (space.rank, space.basis.shape, space.normal.shape) == (
        RANKS[name],
        (d, d - RANKS[name]),
        (d, RANKS[name]),
    )
    both = torch.cat([space.normal, space.basis], 1)
    assert torch.allclose(both.T @ both, torch.eye(d, dtype=torch.float64), atol=1e-12)
    assert (hessian @ space.basis).abs().max() < 1e-10
    assert torch.allclose(
        space.eigenvalues,
        torch.linalg.eigvalsh(hessian).flip(0)[: space.rank],
        rtol=1e-6,
        atol=1e-12,
    )
    assert space.gap > 1e8
    assert space.gradient_norm < 1e-12


def test_a_point_off_the_manifold_is_told_with_its_gradient():
    toy = bernoulli(0.8, 2.0)
    theta = torch.tensor([2.0, 0.0], dtype=torch.float64)
    with pytest.warns(
        UserWarning,
        match=(
            r"`theta` is not a minimizer: \|f − Pr\| is up to 0\.3, the norm of the gradient .* is "
            r"0\.6"
        ),
    ):
        space = tangent_basis(toy.model, theta)
    assert space.gradient_norm == pytest.approx(0.6)


def test_the_rank_falls_where_factors_vanish():
    """With equal distributions the logits may be zero, and so may both factors of one of them."""
    toy = softmax_product([0.25] * 4, [1.0] * 4)
    middle = torch.tensor([1, 1, 1, 1, 0, 0, 0, 0], dtype=torch.float64)
    assert tangent_basis(toy.model, middle).rank == 3
    assert tangent_basis(toy.model, middle * torch.tensor([0, 0, 1, 1, 0, 0, 0, 0])).rank == 2
    doubtful = tangent_basis(toy.model, middle * torch.tensor([1e-9, 1e-12, 1, 1, 0, 0, 0, 0]))
    assert doubtful.rank == 2
    assert 1e6 < doubtful.gap < 1e10


def test_a_matrix_of_zeros_has_rank_zero():
    assert numerical_rank(torch.zeros(3, dtype=torch.float64)) == 0
    assert numerical_rank(torch.tensor([1.0, 2e-8, 1e-9, 0.0], dtype=torch.float64)) == 2


@pytest.mark.parametrize("name", TOY_MODELS)
def test_a_disturbed_minimizer_goes_back_by_a_short_way(name):
    toy = TOY_MODELS[name]()
    disturbance = 0.02 * torch.randn(len(toy.start), generator=seeded(), dtype=torch.float64)
    back = nearest_minimizer(toy.model, toy.start + disturbance)
    assert float(toy.model.residual(back)) <= 1e-12
    assert (back - toy.start - disturbance).norm() < 1.1 * disturbance.norm()


def test_a_minimizer_stays_where_it_is():
    toy = TOY_MODELS["linear"]()
    assert torch.equal(nearest_minimizer(toy.model, toy.start), toy.start)


def test_sparse_distributions_have_no_minimizer():
    toy = sparse_linear(np.random.default_rng(0))
    with pytest.raises(
        ValueError,
        match="`distributions`",
    ):
        nearest_minimizer(toy.model, toy.start)


def test_distributions_that_the_model_cannot_express_are_told():
    distributions = torch.tensor([[0.5, 0.5], [0.2, 0.8]], dtype=torch.float64)
    model = ConditionalModel(
        lambda theta: theta[..., None, :].expand(*theta.shape[:-1], 2, 2),
        distributions,
        torch.tensor([0.5, 0.5]).double(),
    )
    with pytest.raises(RuntimeError, match=r"no minimizer was reached: \|f − Pr\| is still 0\.1"):
        nearest_minimizer(model, torch.zeros(2, dtype=torch.float64))

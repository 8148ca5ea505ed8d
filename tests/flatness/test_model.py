import math

import pytest
import torch

from ntpcompanion.flatness.hessian import full_hessian
from ntpcompanion.flatness.model import ConditionalModel, gradient_covariance
from tests.flatness.cases import TOY_MODELS, seeded

TRUE = torch.tensor([[0.25, 0.75, 0.0], [0.2, 0.3, 0.5]], dtype=torch.float64)
WEIGHT = torch.tensor([0.4, 0.6], dtype=torch.float64)


def free(distributions=TRUE, weight=WEIGHT):
    """Every logit is a parameter."""
    return ConditionalModel(lambda theta: theta.unflatten(-1, (2, 3)), distributions, weight)


def enumerated_moments(model, theta):
    """The mean and the second moment of the gradient of one draw, pair by pair."""
    mean, second = 0, 0
    for i, row in enumerate(model.distributions):
        for v, p in enumerate(row):
            leaf = theta.clone().requires_grad_()
            g = torch.autograd.grad(-model.logits(leaf).log_softmax(-1)[i, v], leaf)[0]
            mass = model.weight[i] * p
            mean, second = mean + mass * g, second + mass * torch.outer(g, g)
    return mean, second


@pytest.mark.parametrize("toy", TOY_MODELS.values(), ids=TOY_MODELS)
def test_lemma_4_2_the_covariance_of_the_gradient_is_the_hessian(toy):
    model, start = toy().model, toy().start
    mean, second = enumerated_moments(model, start)
    hessian = torch.autograd.functional.hessian(model.loss, start, vectorize=True)
    assert mean.abs().max() < 1e-10
    assert (second - hessian).abs().max() < 1e-10
    assert (gradient_covariance(model, start) - hessian).abs().max() < 1e-10
    assert (full_hessian(model.loss, start) - hessian).abs().max() < 1e-10


def test_off_the_manifold_covariance_and_hessian_differ():
    model, theta = free(), torch.randn(6, generator=seeded(), dtype=torch.float64)
    mean, second = enumerated_moments(model, theta)
    covariance = gradient_covariance(model, theta)
    assert torch.allclose(covariance, second - torch.outer(mean, mean), rtol=1e-12, atol=1e-14)
    assert (covariance - full_hessian(model.loss, theta)).abs().max() > 0.01


def test_loss_excess_and_residual_are_their_definitions():
    model, theta = free(), torch.randn(4, 6, generator=seeded(), dtype=torch.float64)
    f = theta.view(4, 2, 3).softmax(-1)
    loss = -(WEIGHT[:, None] * TRUE * f.log()).sum((1, 2))
    entropy = -(WEIGHT[:, None] * torch.xlogy(TRUE, TRUE)).sum()
    assert torch.allclose(model.loss(theta), loss, rtol=1e-12)
    assert torch.allclose(model.excess(theta), loss - entropy, rtol=1e-10)
    assert torch.allclose(model.residual(theta), (f - TRUE).abs().amax((1, 2)), rtol=1e-12)


def test_what_has_no_probability_adds_no_loss():
    model = free(torch.tensor([[0.5, 0.5, 0.0]] * 2, dtype=torch.float64))
    theta = torch.tensor([0.0, 0.0, -torch.inf] * 2, dtype=torch.float64)
    assert float(model.loss(theta)) == pytest.approx(math.log(2))
    assert float(model.excess(theta)) == pytest.approx(0, abs=1e-15)


def test_a_small_excess_keeps_its_digits():
    distributions = TRUE[[1, 1]]
    theta = distributions.log().flatten() + torch.tensor([1e-7, 0, 0, 0, 0, 0], dtype=torch.float64)
    expected = 0.4 * 0.2 * 0.8 * 1e-14 / 2
    assert float(free(distributions).excess(theta)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("distributions", "weight", "words"),
    [
        (
            TRUE.float(),
            WEIGHT,
            r"`distributions` row 1 sums to 1\.0000000149, not to 1 within 1e-08",
        ),
        (TRUE - 0.1, WEIGHT, "`distributions` holds the negative entry -0.1"),
        (TRUE, WEIGHT / 2, r"`weight` sums to 0\.5"),
        (
            TRUE,
            torch.ones(1).double(),
            "`weight`",
        ),
        (
            TRUE,
            torch.tensor([0.0, 1.0]).double(),
            "`weight`",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_distributions_that_are_none_are_refused(distributions, weight, words):
    with pytest.raises(ValueError, match=words):
        free(distributions, weight)


def test_logits_of_another_shape_are_refused():
    model = ConditionalModel(lambda theta: theta, TRUE, WEIGHT)
    with pytest.raises(
        ValueError,
        match="`logits`",
    ):
        model.loss(torch.zeros(5, 6, dtype=torch.float64))

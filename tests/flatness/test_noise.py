import numpy as np
import pytest
import torch

from ntpcompanion.flatness import noise
from ntpcompanion.flatness.model import gradient_covariance
from ntpcompanion.flatness.noise import MeanGradient
from ntpcompanion.flatness.toy_models import softmax_product
from tests.flatness.cases import TOY_MODELS, seeded


def test_without_noise_it_is_the_gradient_of_the_loss_in_every_replica():
    toy = TOY_MODELS["network"]()
    thetas = toy.start + 0.1 * torch.randn(
        3, len(toy.start), generator=seeded(), dtype=torch.float64
    )
    got = MeanGradient(toy.model, None, 3, np.random.default_rng(0))(thetas)
    expected = torch.stack([torch.func.grad(toy.model.loss)(theta) for theta in thetas])
    assert torch.allclose(got, expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("batch_size", [1, 3])
def test_mean_and_covariance_are_those_of_a_batch(batch_size):
    """At the start and off it, over 60,000 draws: within five standard errors, estimated by the
    moments themselves.
    """
    toy = softmax_product([0.1, 0.2, 0.7], [2.0, 1.0, -1.5])
    theta, replicas = toy.start + 0.3, 60_000
    draws = MeanGradient(toy.model, batch_size, replicas, np.random.default_rng(0))(
        theta.expand(replicas, -1)
    )
    sigma, mean = (
        gradient_covariance(toy.model, theta) / batch_size,
        torch.func.grad(toy.model.loss)(theta),
    )
    assert ((draws.mean(0) - mean).abs() < 5 * (sigma.diagonal() / replicas).sqrt() + 1e-15).all()
    products = (draws - mean)[:, :, None] * (draws - mean)[:, None, :]
    assert ((products.mean(0) - sigma).abs() < 5 * products.std(0) / replicas**0.5 + 1e-15).all()


def test_a_batch_of_one_is_one_gradient_of_one_pair():
    toy = TOY_MODELS["linear"]()
    gradients = {
        tuple(
            np.round(
                torch.func.grad(lambda t, i=i, v=v: -toy.model.log_probabilities(t)[i, v])(
                    toy.start
                ).numpy(),
                10,
            )
            + 0.0
        )
        for i in range(5)
        for v in range(4)
    }
    draws = MeanGradient(toy.model, 1, 200, np.random.default_rng(0))(toy.start.expand(200, -1))
    assert {tuple(row) for row in draws.numpy().round(10) + 0.0} <= gradients


def test_every_call_and_every_replica_draws_anew_and_a_seed_gives_the_same_draws(monkeypatch):
    toy = TOY_MODELS["linear"]()
    thetas = toy.start.expand(50, -1)
    one, same = (MeanGradient(toy.model, 2, 50, np.random.default_rng(7)) for _ in range(2))
    first, second = one(thetas), one(thetas)
    assert torch.equal(first, same(thetas))
    assert not torch.equal(first, second)
    assert len(first.unique(dim=0)) > 10
    monkeypatch.setattr(noise, "BLOCK_DRAWS", 1)
    in_small_blocks = MeanGradient(toy.model, 2, 50, np.random.default_rng(7))
    assert torch.equal(in_small_blocks(thetas), first)
    assert torch.equal(in_small_blocks(thetas), second)

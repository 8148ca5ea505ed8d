import numpy as np
import pytest
import torch

from ntpcompanion.flatness import noise
from ntpcompanion.flatness.beds import softmax_product
from ntpcompanion.flatness.model import gradient_covariance
from ntpcompanion.flatness.noise import MeanGradient
from tests.flatness.cases import BEDS, seeded


def test_without_noise_it_is_the_gradient_of_the_loss_in_every_replica():
    bed = BEDS["network"]()
    thetas = bed.start + 0.1 * torch.randn(
        3, len(bed.start), generator=seeded(), dtype=torch.float64
    )
    got = MeanGradient(bed.model, None, 3, np.random.default_rng(0))(thetas)
    expected = torch.stack([torch.func.grad(bed.model.loss)(theta) for theta in thetas])
    assert torch.allclose(got, expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("batch_size", [1, 3])
def test_mean_and_covariance_are_those_of_a_batch(batch_size):
    """At the start and off it, over 60,000 draws: within five standard errors, estimated by the
    moments themselves.
    """
    bed = softmax_product([0.1, 0.2, 0.7], [2.0, 1.0, -1.5])
    theta, replicas = bed.start + 0.3, 60_000
    draws = MeanGradient(bed.model, batch_size, replicas, np.random.default_rng(0))(
        theta.expand(replicas, -1)
    )
    sigma, mean = (
        gradient_covariance(bed.model, theta) / batch_size,
        torch.func.grad(bed.model.loss)(theta),
    )
    assert ((draws.mean(0) - mean).abs() < 5 * (sigma.diagonal() / replicas).sqrt() + 1e-15).all()
    products = (draws - mean)[:, :, None] * (draws - mean)[:, None, :]
    assert ((products.mean(0) - sigma).abs() < 5 * products.std(0) / replicas**0.5 + 1e-15).all()


def test_a_batch_of_one_is_one_gradient_of_one_pair():
    bed = BEDS["linear"]()
    gradients = {
        tuple(
            np.round(
                torch.func.grad(lambda t, i=i, v=v: -bed.model.log_probabilities(t)[i, v])(
                    bed.start
                ).numpy(),
                10,
            )
            + 0.0
        )
        for i in range(5)
        for v in range(4)
    }
    draws = MeanGradient(bed.model, 1, 200, np.random.default_rng(0))(bed.start.expand(200, -1))
    assert {tuple(row) for row in draws.numpy().round(10) + 0.0} <= gradients


def test_every_call_and_every_replica_draws_anew_and_a_seed_gives_the_same_draws(monkeypatch):
    bed = BEDS["linear"]()
    thetas = bed.start.expand(50, -1)
    one, same = (MeanGradient(bed.model, 2, 50, np.random.default_rng(7)) for _ in range(2))
    first, second = one(thetas), one(thetas)
    assert torch.equal(first, same(thetas))
    assert not torch.equal(first, second)
    assert len(first.unique(dim=0)) > 10
    monkeypatch.setattr(noise, "BLOCK_DRAWS", 1)
    in_small_blocks = MeanGradient(bed.model, 2, 50, np.random.default_rng(7))
    assert torch.equal(in_small_blocks(thetas), first)
    assert torch.equal(in_small_blocks(thetas), second)

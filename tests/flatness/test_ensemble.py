import numpy as np
import pytest
import torch

from ntpcompanion.flatness import ensemble
from ntpcompanion.flatness.ensemble import MeanGradient, follow_adam, follow_sgd
from ntpcompanion.flatness.model import ConditionalModel, gradient_covariance
from ntpcompanion.flatness.toy_models import bernoulli, imbalance, softmax_product
from tests.flatness.cases import TOY_MODELS, seeded


def rng(seed=0):
    return np.random.default_rng(seed)


def test_the_ensemble_keeps_what_was_asked_and_can_be_repeated():
    toy = TOY_MODELS["linear"]()
    path = follow_sgd(toy.model, toy.start, 0.1, 10, 2, 3, rng(), snapshots=4)
    assert path.steps.tolist() == [0, 3, 7, 10]
    assert path.times.tolist() == pytest.approx([0, 0.03, 0.07, 0.1])
    assert path.thetas.shape == (4, 3, 21)
    assert torch.equal(path.thetas[0], toy.start.expand(3, -1))
    again = follow_sgd(toy.model, toy.start, 0.1, 10, 2, 3, rng(), snapshots=2)
    assert torch.equal(again.thetas[-1], path.thetas[-1])
    from_rows = follow_sgd(toy.model, toy.start.repeat(3, 1), 0.1, 10, 2, 3, rng(), snapshots=100)
    assert from_rows.steps.tolist() == list(range(11))
    assert torch.equal(from_rows.thetas[-1], path.thetas[-1])


def test_a_step_multiplies_the_imbalance_by_an_exact_factor():
    """D ← (1 − η² g²) D with the error g of the predicted probability, on the valley and off it."""
    toy, eta = bernoulli(0.8, 2.0), 0.3
    path = follow_sgd(toy.model, toy.start, eta, 50, 1, 5, rng(), snapshots=51)
    before, after = path.thetas[:-1], path.thetas[1:]
    q = before.prod(-1).sigmoid()
    for label in (0, 1):  # the label of a step shows in the direction of its change
        seen = ((after - before)[..., 0] * before[..., 1] > 0) == bool(label)
        expected = imbalance(before) * (1 - eta**2 * (q - label) ** 2)
        assert seen.any()
        assert imbalance(after)[seen].tolist() == pytest.approx(expected[seen].tolist(), rel=1e-12)


def test_adam_is_its_textbook_recursion():
    """Kingma and Ba's algorithm with decoupled weight decay, on the population gradient."""
    toy, eta, (b1, b2), decay, eps = bernoulli(0.8, 2.0), 0.05, (0.8, 0.95), 0.1, 1e-3
    path = follow_adam(
        toy.model,
        toy.start + 0.1,
        eta,
        7,
        None,
        2,
        rng(),
        betas=(b1, b2),
        weight_decay=decay,
        epsilon=eps,
        snapshots=8,
    )
    theta, m, v = toy.start + 0.1, torch.zeros(2), torch.zeros(2)
    for k in range(1, 8):
        g = torch.func.grad(toy.model.loss)(theta)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        theta = (
            theta - eta * decay * theta - eta * (m / (1 - b1**k)) / ((v / (1 - b2**k)).sqrt() + eps)
        )
        assert torch.allclose(path.thetas[k], theta.expand(2, -1), rtol=1e-12)
    assert path.times.tolist() == pytest.approx([eta**2 * k for k in range(8)])


def test_a_learning_rate_that_is_too_large_is_told():
    toy = bernoulli(0.8, 2.0)
    with pytest.raises(
        RuntimeError,
        match=r"The runs diverged before step \d+: make `learning_rate` smaller than 1e\+200",
    ):
        follow_sgd(toy.model, toy.start, 1e200, 200, 1, 5, rng())


def test_logits_without_replicas_are_refused():
    toy = bernoulli(0.8, 2.0)
    single = ConditionalModel(
        lambda theta: toy.model.logits(theta.flatten()[:2]),
        toy.model.distributions,
        toy.model.weight,
    )
    with pytest.raises(
        ValueError,
        match="`logits`",
    ):
        follow_sgd(single, toy.start, 0.1, 1, 1, 3, rng())


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
    monkeypatch.setattr(ensemble, "BLOCK_DRAWS", 1)
    in_small_blocks = MeanGradient(toy.model, 2, 50, np.random.default_rng(7))
    assert torch.equal(in_small_blocks(thetas), first)
    assert torch.equal(in_small_blocks(thetas), second)

import numpy as np
import pytest
import torch

from ntpcompanion.mlm.evaluation.evaluate import divergence
from ntpcompanion.mlm.evaluation.softmax_bottleneck import (
    divergence_of_decoder,
    least_divergence,
)


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def test_planted_logits_of_that_rank_are_reached_and_those_of_a_larger_one_are_not():
    logits = normal(30, 2) @ normal(2, 6, seed=1) + normal(6, seed=2)
    assert least_divergence(logits.softmax(1), 2).value < 1e-9
    assert least_divergence(logits.softmax(1), 1).value > 1e-3


def test_one_feature_of_three_words_as_a_search_over_directions():
    """Rank 1, V = 3: directions of the decoder and biases on a grid, features by golden section."""
    true = normal(5, 3).softmax(1)
    angles = torch.linspace(0, np.pi, 91)[:-1].double()
    plane = torch.linalg.qr(torch.tensor([[1.0, 0], [-1, 1], [0, -1]]).double())[0]
    features = torch.linspace(-8, 8, 641).double()
    logs = true.log() @ plane
    best = np.inf
    for angle in angles:
        along = torch.stack([angle.cos(), angle.sin()])
        across = torch.stack([-angle.sin(), angle.cos()])
        centre = float((logs @ across).mean())
        for height in torch.linspace(centre - 0.5, centre + 0.5, 41).double():
            points = (features[:, None] * along + height * across) @ plane.T
            table = torch.stack([divergence(row.expand_as(points), points) for row in true])
            best = min(best, float(table.min(1).values.mean()))
    found = least_divergence(true, 1, starts=4).value
    assert found <= best + 1e-9
    assert found == pytest.approx(best, abs=2e-3)


def test_the_gradient_is_small_and_starts_agree():
    fit = least_divergence(normal(40, 6).softmax(1), 3, starts=3)
    assert fit.gradient < 1e-3
    assert fit.value == min(fit.starts)
    assert max(fit.starts) < 1.2 * fit.value


def test_features_of_other_distributions_are_the_minimum_of_convex_problems():
    cvxpy = pytest.importorskip("cvxpy")
    fit = least_divergence(normal(30, 5).softmax(1), 2)
    others = normal(3, 5, seed=7).softmax(1)
    values = divergence_of_decoder(others, fit)
    for row, value in zip(others.numpy(), values.tolist(), strict=True):
        h = cvxpy.Variable(2)
        logits = fit.decoder.numpy() @ h + fit.bias.numpy()
        loss = cvxpy.log_sum_exp(logits) - row @ logits
        least = cvxpy.Problem(cvxpy.Minimize(loss)).solve() + float(row @ np.log(row))
        assert value == pytest.approx(least, abs=1e-6)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"`rank` must lie in 1 … 2 \(below the number of words\)"):
        least_divergence(normal(5, 3).softmax(1), 3)
    with pytest.raises(ValueError, match="`distributions`"):
        least_divergence(normal(5, 3) * 9, 1)

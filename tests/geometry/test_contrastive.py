import numpy as np
import pytest
import torch

from ntpcompanion.geometry import class_gram, contrastive_minimum
from ntpcompanion.geometry.contrastive import _Loss
from tests.geometry import oracles


def labels(*counts):
    return np.repeat(np.arange(len(counts)), counts)


def literal_loss(H, y, temperature):
    """The double sum of the definition."""
    total = 0.0
    for i in range(len(y)):
        others = [a for a in range(len(y)) if a != i]
        same = [j for j in others if y[j] == y[i]]
        terms = [
            torch.logsumexp(torch.stack([(H[i] @ (H[a] - H[j])) / temperature for a in others]), 0)
            for j in same
        ]
        total = total + sum(terms) / len(same)
    return total / len(y)


def test_loss_and_gradient_are_those_of_the_definition():
    y, temperature = labels(3, 2, 2), 0.3
    x = torch.tensor(np.random.default_rng(0).standard_normal((7, 4)), requires_grad=True)
    loss = literal_loss(x / x.norm(dim=1, keepdim=True), y, temperature)
    loss.backward()
    same = (y[:, None] == y) & ~np.eye(7, dtype=bool)
    value, gradient = _Loss(same, temperature, (7, 4)).value_and_gradient(
        x.detach().numpy().ravel()
    )
    assert value == pytest.approx(loss.item(), rel=1e-12)
    np.testing.assert_allclose(gradient, x.grad.numpy().ravel(), atol=1e-12)


def test_products_with_the_hessian_are_differences_of_gradients():
    y = labels(3, 2, 2)
    problem = _Loss((y[:, None] == y) & ~np.eye(7, dtype=bool), 0.3, (7, 4))
    x, v = np.random.default_rng(1).standard_normal((2, 28))
    ahead, behind = (problem.value_and_gradient(x + s * v)[1] for s in (1e-6, -1e-6))
    np.testing.assert_allclose(problem.hessian_product(x, v), (ahead - behind) / 2e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("counts", "temperature"), [([3, 3, 3], 0.5), ([6, 6, 2, 2], 1.0), ([6, 6, 2, 2], 0.2)]
)
def test_minima_are_those_of_the_convex_program(counts, temperature):
    y = labels(*counts)
    start = np.random.default_rng(2).standard_normal((len(y), 6))
    found = contrastive_minimum(y, start, temperature=temperature)
    value, gram = oracles.contrastive_classes(counts, temperature)
    assert found.gap <= 1e-9
    assert found.loss == pytest.approx(value, abs=1e-6)
    seen = class_gram(found.gram, y)
    np.testing.assert_allclose(seen.means, gram, atol=1e-3)
    assert seen.spread < 1e-4


def test_no_features_have_a_loss_below_the_bound():
    y, rng = labels(3, 3, 2), np.random.default_rng(3)
    problem = _Loss((y[:, None] == y) & ~np.eye(8, dtype=bool), 0.4, (8, 5))
    features = [problem.features(rng.standard_normal(40)) for _ in range(20)]
    least = min(problem.value(H @ H.T) for H in features)
    assert all(problem.bound(H) <= least + 1e-12 for H in features)


def test_a_stationary_point_that_is_not_the_minimum_keeps_its_gap():
    y = labels(2, 2)
    together = np.ones((4, 2))  # all in one point: no gradient, and the highest loss
    found = contrastive_minimum(y, together, temperature=0.5, max_iterations=5)
    assert found.gap > 0.1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": [0, 0, 2, 2]}, "at least two samples"),
        ({"labels": [0, 0, 0, 0]}, "at least two classes"),
        ({"labels": [0.5, 0, 1, 1]}, "`labels`"),
        ({"start": np.zeros((4, 2))}, "`start` must have no row of zeros"),
        ({"start": np.ones((3, 2))}, "`start`"),
        ({"temperature": 0}, "`temperature`"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(change, words):
    given = {"labels": [0, 0, 1, 1], "start": np.ones((4, 2)), "temperature": 0.5}
    with pytest.raises(ValueError, match=words):
        contrastive_minimum(**{**given, **change})

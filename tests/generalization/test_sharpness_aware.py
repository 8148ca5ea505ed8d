import numpy as np
import pytest
import torch

from ntpcompanion.generalization import train_to_losses
from ntpcompanion.generalization.sharpness_aware import FeatureModel, ascended, gini


@pytest.fixture
def stack():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3, 8, 2)), rng.choice([-1.0, 1.0], (3, 8))
    return FeatureModel(*rng.standard_normal((2, 3, 2))), X, y


def by_autograd(model, X, y):
    u, v = (torch.tensor(p, requires_grad=True) for p in (model.inner, model.outer))
    f = (torch.tensor(X) * (u * v)[:, None]).sum(-1)
    losses = torch.nn.functional.softplus(-torch.tensor(y) * f).mean(1)
    return losses.detach().numpy(), *(g.numpy() for g in torch.autograd.grad(losses.sum(), (u, v)))


def test_losses_and_gradients_are_those_of_autograd(stack):
    model, X, y = stack
    losses, down, out = by_autograd(model, X, y)
    np.testing.assert_allclose(model.losses(X, y), losses, rtol=1e-12)
    np.testing.assert_allclose(model.gradients(X, y), (down, out), rtol=1e-12)


def test_importance_is_the_size_of_the_derivative_of_a_loss_in_its_logit(stack):
    model, X, y = stack
    f = (X * (model.inner * model.outer)[:, None]).sum(-1)
    np.testing.assert_allclose(model.importance(X, y), 1 / (1 + np.exp(y * f)), rtol=1e-12)


@pytest.mark.parametrize("last_layer", [False, True])
def test_the_ascent_has_length_rho_in_the_direction_of_the_gradient(stack, last_layer):
    model, X, y = stack
    radii = np.array([0.0, 0.1, 0.7])
    there = ascended(model, X, y, radii, last_layer=last_layer)
    _, down, out = by_autograd(model, X, y)
    step = np.hstack([there.inner - model.inner, there.outer - model.outer])
    gradient = np.hstack([0 * down if last_layer else down, out])
    np.testing.assert_allclose(np.linalg.norm(step, axis=1), radii, atol=1e-12)
    np.testing.assert_allclose(
        step, radii[:, None] * gradient / np.linalg.norm(gradient, axis=1, keepdims=True)
    )


def test_without_a_gradient_nothing_moves():
    still = FeatureModel(np.zeros((1, 2)), np.zeros((1, 2)))
    there = ascended(still, np.ones((1, 1, 2)), np.ones((1, 1)), 0.5)
    assert not there.inner.any()
    assert not there.outer.any()


def test_models_are_kept_at_the_first_step_below_a_loss(stack):
    _, X, _ = stack
    y, path = np.sign(X[..., 0]), []
    reached = train_to_losses(X, y, radius=[0.0, 0.1, 0.2], losses=[0.5, 0.4], start=0.3)
    for i, rho in enumerate([0.0, 0.1, 0.2]):  # one by one, step by step
        model, path = FeatureModel(np.full((1, 2), 0.3), np.full((1, 2), 0.3)), []
        data = X[i : i + 1], y[i : i + 1]
        while not path or path[-1][0] > 0.4:
            if path:
                _, down, out = by_autograd(ascended(model, *data, rho), *data)
                model = FeatureModel(model.inner - 0.1 * down, model.outer - 0.1 * out)
            path.append((model.losses(*data)[0], model.inner[0]))
        for goal, found in zip([0.5, 0.4], reached, strict=True):
            first = next(inner for loss, inner in path if loss <= goal)
            np.testing.assert_allclose(found.inner[i], first, rtol=1e-10)


def test_gini_is_the_mean_difference_of_pairs():
    w = np.random.default_rng(1).random((2, 7))
    pairs = np.abs(w[:, :, None] - w[:, None]).mean((1, 2)) / (2 * w.mean(1))
    np.testing.assert_allclose(gini(w), pairs, rtol=1e-12)
    assert gini(np.eye(5)[0]) == pytest.approx(0.8)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": np.zeros((3, 8))}, "`labels` must be −1 or 1 throughout, got"),
        ({"losses": [0.1, 0.2]}, "`losses` must fall, got"),
        ({"radius": [0, 1]}, "`radius` must be a number, or one for each of the 3"),
        (
            {"max_steps": 2, "losses": [1e-9]},
            "3 of 3 were not reached in 2 steps. Raise `max_",
        ),
    ],
)
def test_wrong_arguments_are_named(stack, change, words):
    _, X, y = stack
    given = {"inputs": X, "labels": y, "radius": 0.1, "losses": [0.1]} | change
    with pytest.raises(ValueError, match=words):
        train_to_losses(**given)


@pytest.mark.parametrize(
    ("weights", "words"),
    [([-1, 2], "lie in 0 … inf"), ([0, 0], "not be all 0"), (3, "be an array")],
)
def test_what_has_no_gini_is_rejected(weights, words):
    with pytest.raises(ValueError, match=f"`weights` must {words}"):
        gini(weights)

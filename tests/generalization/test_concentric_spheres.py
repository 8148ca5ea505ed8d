from dataclasses import replace

import numpy as np
import pytest
import torch

from ntpcompanion.generalization.concentric_spheres import (
    TwoLayerNet,
    draw_spheres,
    to_other_sphere,
    train_two_layers,
)

FIELDS = ("inner", "bias", "outer", "offset")


@pytest.fixture
def net(rng):
    shapes = ((3, 5), (5,), (5,), ())
    return TwoLayerNet(*(np.asarray(rng.standard_normal(s), np.float32) for s in shapes))


def of_torch(net, sample):
    """Output and gradients by automatic differentiation, in double precision."""
    parts = {
        name: torch.tensor(getattr(net, name), dtype=torch.double, requires_grad=True)
        for name in FIELDS
    }
    x = torch.tensor(sample.inputs, dtype=torch.double)
    hidden = torch.relu(x @ parts["inner"] + parts["bias"])
    margins = torch.tensor(sample.labels) * (hidden @ parts["outer"] + parts["offset"])
    torch.nn.functional.softplus(-margins).mean().backward()
    return margins.detach().numpy(), {name: part.grad.numpy() for name, part in parts.items()}


def test_margins_and_gradients_are_those_of_torch(rng, net):
    sample = draw_spheres(rng, 7, 3)
    expected, gradients = of_torch(net, sample)
    np.testing.assert_allclose(net.margins(sample), expected, rtol=1e-5, atol=1e-5)
    for name, found in net.gradients(sample).items():
        np.testing.assert_allclose(found, gradients[name], rtol=1e-4, atol=1e-6)


def test_points_lie_on_the_sphere_of_their_label(rng):
    sample = draw_spheres(rng, 400, 8)
    radii = np.linalg.norm(sample.inputs, axis=1)
    np.testing.assert_allclose(radii, np.where(sample.labels == 1, 1.1, 1.0), rtol=1e-6)
    assert abs(sample.labels.mean()) < 0.25  # five standard errors
    assert np.abs(sample.inputs.mean(axis=0)).max() < 0.1


def test_moving_twice_returns_the_sample_and_once_keeps_the_rays(rng):
    sample = draw_spheres(rng, 50, 6)
    moved = to_other_sphere(sample)
    assert (moved.labels == -sample.labels).all()
    radii = np.linalg.norm(moved.inputs, axis=1)
    np.testing.assert_allclose(radii, np.where(moved.labels == 1, 1.1, 1.0), rtol=1e-6)
    along = (moved.inputs * sample.inputs).sum(axis=1)
    np.testing.assert_allclose(along, 1.1, rtol=1e-6)  # the product of the two radii
    np.testing.assert_allclose(to_other_sphere(moved).inputs, sample.inputs, rtol=1e-6)


def test_training_ends_when_the_sample_has_its_margin(rng):
    sample = draw_spheres(rng, 60, 20)
    wanted = {"width": 100, "learning_rate": 0.5, "margin": 0.5}
    net = train_two_layers(np.random.default_rng(1), sample, **wanted)
    assert np.mean(net.margins(sample) >= 0.5) >= 0.99
    earlier = train_two_layers(np.random.default_rng(1), sample, **wanted, epochs=net.epochs - 1)
    assert earlier.epochs == net.epochs - 1
    assert np.mean(earlier.margins(sample) >= 0.5) < 0.99


def test_one_step_on_the_whole_sample_is_one_of_gradient_descent(rng):
    sample = draw_spheres(rng, 30, 4)
    wanted = {"width": 20, "batch_size": 30, "epochs": 1}
    start = train_two_layers(np.random.default_rng(2), sample, **wanted, learning_rate=1e-30)
    after = train_two_layers(np.random.default_rng(2), sample, **wanted, learning_rate=0.1)
    gradients = of_torch(start, sample)[1]
    for name in FIELDS:
        expected = getattr(start, name) - 0.1 * gradients[name]
        np.testing.assert_allclose(getattr(after, name), expected, atol=1e-5)


def test_the_error_is_the_fraction_of_margins_that_are_not_positive(rng, net):
    sample = draw_spheres(rng, 40, 3)
    assert net.error(sample) == np.mean(net.margins(sample) <= 0)
    turned = replace(sample, labels=-sample.labels)
    assert net.error(turned) + net.error(sample) == pytest.approx(1)

import numpy as np
import pytest
import torch

from ntpcompanion.linear.dynamics.optimizers import Adam, normalized, plain


def test_steps_of_adam_are_those_of_torch(rng):
    start, gradients = rng.standard_normal((3, 2)), rng.standard_normal((30, 3, 2))
    parameter = torch.tensor(start, requires_grad=True)
    reference = torch.optim.Adam([parameter], lr=0.1, betas=(0.8, 0.9), eps=1e-3)
    adam, x = Adam((3, 2), 0.8, 0.9, 1e-3), start.copy()
    squares = np.zeros((3, 2))
    for k, gradient in enumerate(gradients, 1):
        parameter.grad = torch.tensor(gradient)
        reference.step()
        x -= adam(gradient.copy(), 0.1)
        squares = 0.9 * squares + 0.1 * gradient**2
        np.testing.assert_allclose(adam.second_moment(), squares / (1 - 0.9**k), rtol=1e-12)
    np.testing.assert_allclose(x, parameter.detach(), atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-170, 1e170])
def test_normalized_steps_have_the_length_of_the_rate(rng, scale):
    gradient = scale * rng.standard_normal((3, 2))
    step = normalized(gradient.copy(), 0.3)
    np.testing.assert_allclose(np.linalg.norm(step), 0.3)
    np.testing.assert_allclose(step / step[0, 0], gradient / gradient[0, 0])
    assert not normalized(np.zeros((3, 2)), 0.3).any()


def test_plain_steps_are_multiples_of_the_gradient(rng):
    gradient = rng.standard_normal((3, 2))
    np.testing.assert_array_equal(plain(gradient.copy(), 0.3), 0.3 * gradient)

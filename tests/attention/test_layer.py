"""The gradient of one layer against autograd and against many digits."""

import mpmath
import numpy as np
import pytest
import scipy.special
import torch

from ntpcompanion.attention import attention_map, log_excess, logit_gradient, plain_logit_gradient
from ntpcompanion.attention.layer import log_softmax, log_sum_exp


def full(found):
    return found.scaled * np.exp(found.log_scale)[..., None, None]


def loss_by_torch(logits, scores):
    margins = (torch.softmax(logits, dim=-1) * scores).sum(dim=-1)
    return torch.nn.functional.softplus(-margins).mean(dim=-1)


@pytest.mark.parametrize("spread", [0.1, 1.0, 5.0])
def test_gradients_are_those_of_autograd(rng, spread):
    a, gamma = spread * rng.normal(size=(3, 6, 4)), rng.normal(size=(3, 6, 4))
    logits = torch.tensor(a, requires_grad=True)
    loss = loss_by_torch(logits, torch.tensor(gamma))
    loss.sum().backward()
    for function in (logit_gradient, plain_logit_gradient):
        np.testing.assert_allclose(full(function(a, gamma)), logits.grad.numpy(), atol=1e-15)
    best = np.log1p(np.exp(-gamma.max(axis=-1))).mean(axis=-1)
    np.testing.assert_allclose(
        np.exp(log_excess(a, gamma)), loss.detach().numpy() - best, rtol=1e-12
    )


def many_digits(a, gamma):
    """Gradient and L − L* of one data set with 500 digits."""
    with mpmath.workdps(500):
        gradient, excess, n = [], mpmath.mpf(0), len(a)
        for logits, scores in zip(a, gamma, strict=True):
            e = [mpmath.exp(mpmath.mpf(x)) for x in logits]
            s = [x / sum(e) for x in e]
            m = sum(w * mpmath.mpf(g) for w, g in zip(s, scores, strict=True))
            slope = 1 / (1 + mpmath.exp(m))
            gradient += [-slope * w * (g - m) / n for w, g in zip(s, scores, strict=True)]
            excess += mpmath.log(1 + mpmath.exp(-m)) - mpmath.log(1 + mpmath.exp(-max(scores)))
        return gradient, mpmath.log(excess / n)


@pytest.mark.parametrize(
    ("a", "gamma"),
    [
        ([[0.0, 1.0, 3.0], [40.0, 0.0, 1.0]], [[0.0, 0.5, 1.0], [1.0, 0.0, 0.0]]),
        ([[300.0, 0.0, 5.0]], [[1.0, 0.0, 0.25]]),
        ([[0.0, 90.0, 20.0], [0.0, 100.0, 9.0]], [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]),  # a wrong one
        ([[60.0, 60.0, 0.0]], [[1.0, 1.0, 0.5]]),  # two best tokens
    ],
)
def test_digits_are_kept_however_saturated_attention_is(a, gamma):
    found = logit_gradient(a, gamma)
    gradient, excess = many_digits(a, gamma)
    with mpmath.workdps(30):
        scale = mpmath.exp(mpmath.mpf(float(found.log_scale)))
        largest = max(abs(g) for g in gradient)
        for ours, theirs in zip(found.scaled.ravel(), gradient, strict=True):
            assert abs(mpmath.mpf(float(ours)) * scale - theirs) < 1e-13 * largest
    assert float(log_excess(a, gamma)) == pytest.approx(float(excess), rel=1e-13)


def test_equal_scores_give_no_gradient():
    found = logit_gradient(np.zeros((2, 3)), np.ones((2, 3)))
    assert not found.scaled.any()
    assert found.log_scale == -np.inf
    assert log_excess(np.zeros((2, 3)), np.ones((2, 3))) == -np.inf


def test_attention_and_sums_of_exponentials(rng):
    a = 100 * rng.normal(size=(3, 6, 4))
    np.testing.assert_allclose(log_softmax(a), scipy.special.log_softmax(a, axis=-1), rtol=1e-14)
    assert attention_map([1000.0, 1000.0]).tolist() == [0.5, 0.5]
    assert log_sum_exp(np.array([[-np.inf, -np.inf], [0.0, 0.0]])).tolist() == [-np.inf, np.log(2)]


@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="`logits` holds nan"):
        attention_map([np.nan])
    with pytest.raises(ValueError, match="`logits` must have axes"):
        logit_gradient([1.0, 2.0], [[1.0, 0.0]])
    with pytest.raises(ValueError, match=r"`scores` must be a matrix of shape \(1, 2\)"):
        plain_logit_gradient([[1.0, 2.0]], [[1.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match=r"`scores` must have leading axes .* \(3,\), got shape"):
        logit_gradient(np.zeros((3, 1, 2)), np.zeros((2, 1, 2)))
    with pytest.raises(ValueError, match="`scores` holds inf"):
        log_excess([[1.0, 2.0]], [[np.inf, 0.0]])

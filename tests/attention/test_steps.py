"""Paths against loops with autograd, and with many digits."""

import mpmath
import numpy as np
import pytest
import torch

from ntpcompanion.attention import (
    TokenSequences,
    descend_attention,
    plant_tokens,
    stack_sequences,
)
from ntpcompanion.attention.layer import LogitGradient
from ntpcompanion.attention.steps import take_step

METHODS = ("gd", "ngd", "polyak")


def loss_of(data, u, W):
    X, q = torch.tensor(data.tokens), torch.tensor(data.queries)
    attention = torch.softmax(torch.einsum("ntd,dk,nk->nt", X, W, q), dim=1)
    answers = torch.einsum("nt,ntd,d->n", attention, X, torch.tensor(u))
    return torch.nn.functional.softplus(-torch.tensor(data.labels) * answers).mean()


def by_torch(data, u, method, rate, steps, start):
    """The method in the entries of W, by autograd."""
    W = torch.tensor(np.array(start), requires_grad=True)
    least = np.log1p(np.exp(-data.scores(u).max(axis=1))).mean()
    for _ in range(steps):
        loss = loss_of(data, u, W)
        (gradient,) = torch.autograd.grad(loss, W)
        norm = gradient.norm()
        factor = {
            "gd": rate,
            "ngd": rate / norm,
            "polyak": (loss.detach() - least) / (2 * norm**2),
        }[method]
        W = (W - factor * gradient).detach().requires_grad_()
    return W.detach().numpy(), float(loss_of(data, u, W.detach())) - least


@pytest.mark.parametrize("method", METHODS)
def test_paths_are_those_of_autograd(rng, method):
    drawn = plant_tokens(rng, count=4, length=3, dim=5)
    start = rng.normal(size=(5, 5))
    how = {"method": method, "learning_rate": 0.3, "start": start}
    for gradient in ("log", "plain"):
        path = descend_attention(
            drawn.sequences, drawn.decoder, keep=[0, 7], gradient=gradient, **how
        )
        wanted, excess = by_torch(drawn.sequences, drawn.decoder, method, 0.3, 7, start)
        np.testing.assert_allclose(path.weights[0], start)
        np.testing.assert_allclose(path.weights[1], wanted, atol=1e-10)
        np.testing.assert_allclose(path.logits[1], drawn.sequences.logits(wanted), atol=1e-10)
        assert path.log_excess[1] == pytest.approx(np.log(excess), abs=1e-9)


def many_digits(tokens, scores, method, rate, steps):
    """One sequence in the plane with the query 1, from 0, with 200 digits."""
    with mpmath.workdps(200):
        x = [[mpmath.mpf(c) for c in token] for token in tokens]
        gamma, w = [mpmath.mpf(g) for g in scores], [mpmath.mpf(0), mpmath.mpf(0)]
        rate = mpmath.mpf(rate)
        for _ in range(steps):
            e = [mpmath.exp(t[0] * w[0] + t[1] * w[1]) for t in x]
            s = [a / sum(e) for a in e]
            m = sum(a * g for a, g in zip(s, gamma, strict=True))
            pull = [a * (g - m) / (1 + mpmath.exp(m)) for a, g in zip(s, gamma, strict=True)]
            G = [-sum(p * t[k] for p, t in zip(pull, x, strict=True)) for k in (0, 1)]
            norm = mpmath.sqrt(G[0] ** 2 + G[1] ** 2)
            excess = mpmath.log(1 + mpmath.exp(-m)) - mpmath.log(1 + mpmath.exp(-max(gamma)))
            factor = {"gd": rate, "ngd": rate / norm, "polyak": excess / (2 * norm**2)}[method]
            w = [c - factor * g for c, g in zip(w, G, strict=True)]
        return [float(c) for c in w]


@pytest.mark.parametrize(("method", "steps"), [("gd", 60), ("ngd", 60), ("polyak", 120)])
def test_paths_keep_their_digits_after_saturation(method, steps):
    tokens, scores = [[-1.0, 1.0], [1.0, 0.5], [0.5, 0.0]], [1.0, 0.5, 0.0]
    data = TokenSequences(np.array([tokens]), np.ones((1, 1)), np.ones(1))
    how = {"method": method, "learning_rate": 2.0, "keep": [steps]}
    path = descend_attention(data, [0.0, 1.0], **how)
    wanted = many_digits(tokens, scores, method, 2.0, steps)
    np.testing.assert_allclose(path.weights[0][:, 0], wanted, rtol=1e-9)
    if method != "gd":
        assert path.log_excess[0] < -50  # far below the rounding of a loss


def test_norms_and_direction_errors_are_those_of_the_matrices(rng):
    drawn = [plant_tokens(rng, count=4, length=3, dim=5) for _ in range(2)]
    data = stack_sequences([one.sequences for one in drawn])
    u, start = np.stack([one.decoder for one in drawn]), rng.normal(size=(2, 5, 5))
    how = {"method": "ngd", "learning_rate": 0.5}
    path = descend_attention(data, u, keep=[0, 10, 40], start=start, **how)
    target = rng.normal(size=(2, 5, 5))
    norms = np.linalg.norm(path.weights, axis=(2, 3))
    np.testing.assert_allclose(path.norm, norms)
    units = path.weights / norms[..., None, None]
    goal = target / np.linalg.norm(target, axis=(1, 2), keepdims=True)
    wanted = np.linalg.norm(units - goal, axis=(2, 3))
    np.testing.assert_allclose(path.direction_error(target), wanted, atol=1e-9)
    np.testing.assert_allclose(path.attention.sum(axis=-1), 1)


def test_many_starts_of_one_data_set_are_those_alone(rng):
    drawn = plant_tokens(rng, count=4, length=3, dim=5)
    starts = rng.normal(size=(3, 5, 5))
    one = drawn.sequences
    alike = TokenSequences(one.tokens[None], one.queries[None], one.labels[None])
    how = {"method": "ngd", "learning_rate": 0.5, "keep": [20]}
    path = descend_attention(alike, drawn.decoder, start=starts, **how)
    for k, start in enumerate(starts):
        alone = descend_attention(one, drawn.decoder, start=start, **how)
        np.testing.assert_allclose(path.weights[0, k], alone.weights[0], atol=1e-12)


def test_a_step_is_left_out_where_it_has_no_length():
    gram, none = np.eye(2), LogitGradient(np.zeros((1, 2)), np.array(-np.inf))
    for method in METHODS:
        assert not take_step(gram, none, method, 1.0, -np.inf)[0].any()
    stuck = LogitGradient(np.array([[1.0, -1.0]]), np.array(-60.0))
    assert not take_step(gram, stuck, "polyak", 1.0, -1.0)[0].any()  # it would be e^59 long
    taken = take_step(gram, stuck, "polyak", 1.0, -60.0)[0]
    assert taken.ravel().tolist() == pytest.approx([1 / 4, -1 / 4])


@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_refused(rng):
    drawn = plant_tokens(rng, count=4, length=3, dim=5)

    def rejected(match, **given):
        how = {"method": "ngd", "keep": [1]} | given
        with pytest.raises(ValueError, match=match):
            descend_attention(drawn.sequences, drawn.decoder, **how)

    rejected("`keep` must be increasing", keep=[3, 2])
    rejected("`keep` must be a vector of integers", keep=[])
    rejected("`start` must be an array", start=np.zeros((4, 5)))
    both = stack_sequences([drawn.sequences] * 2)
    with pytest.raises(ValueError, match="`start` must have leading axes that go with"):
        descend_attention(both, drawn.decoder, method="gd", keep=[1], start=np.zeros((3, 5, 5)))
    with pytest.raises(ValueError, match=r"`decoder` must have leading axes .*\(2,\), got shape"):
        descend_attention(both, np.ones((3, 5)), method="gd", keep=[0, 3])
    with pytest.raises(ValueError, match=r"`decoder` must be a vector of length 5, got shape"):
        descend_attention(drawn.sequences, np.ones((2, 5)), method="gd", keep=[0, 3])

"""Steepest descent against torch, SciPy, general solvers and an example by hand."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg
import torch

from ntpcompanion.linear import ContextTable
from ntpcompanion.linear.dynamics.steepest_descent import (
    largest_curvature,
    steepest_descent,
    steepest_direction,
)
from ntpcompanion.linear.svm.norm_margins import (
    PROGRAMS,
    decoder_norm,
    dual_norm,
    projector_onto_F,
    solve_norm_margin,
)
from ntpcompanion.randomness import stream

NORMS = list(PROGRAMS)
CASES = [ContextTable.random(4, 5, size, 6, stream(size, "steepest")) for size in (1, 2, 3)]


def torch_gradient(case, W):
    W = torch.tensor(W, requires_grad=True)
    logits = torch.tensor(case.embeddings) @ W.T
    labels = torch.tensor(case.distributions.toarray())
    loss = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    (torch.tensor(case.weight) @ loss).backward()
    return W.grad.numpy()


def directions(G, norm):
    if norm == "max":
        return np.sign(G)
    if norm == "frobenius":
        return G / np.sqrt((G**2).sum())
    values, vectors = scipy.linalg.eigh(G @ G.T)
    kept = values > 1e-12 * values.max()
    return vectors[:, kept] / np.sqrt(values[kept]) @ vectors[:, kept].T @ G


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("norm", NORMS)
def test_runs_are_those_of_torch_one_by_one(norm, momentum):
    """Gradients by torch, momentum by hand, polar factors by roots of G Gᵀ."""
    rates = 0.1 / np.arange(1, 13) * np.array([[1.0], [0.5], [2.0]])
    path = steepest_descent(CASES, norm=norm, rates=rates, keep=[5, 12], momentum=momentum)
    for i, case in enumerate(CASES):
        W, M = np.zeros((5, 6)), np.zeros((5, 6))
        for k in range(12):
            M = momentum * M + (1 - momentum) * torch_gradient(case, W)
            W = W - rates[i, k] * directions(M, norm)
            if k == 4:
                np.testing.assert_allclose(path.weights[0, i], W, atol=1e-6)
        np.testing.assert_allclose(path.weights[1, i], W, atol=1e-6)
    assert (path.slope == 1).all()


def test_muon_of_torch_takes_nearly_the_same_steps():
    """Its polar factors are approximate: singular values between 0.7 and 1.2."""
    case, rates = CASES[1], np.full((1, 10), 0.05)
    W = torch.zeros((5, 6), dtype=torch.float64, requires_grad=True)
    options = {"lr": 0.05, "momentum": 0.9, "nesterov": False, "weight_decay": 0.0}
    muon = torch.optim.Muon([W], ns_steps=5, **options)
    for _ in range(10):
        W.grad = torch.tensor(torch_gradient(case, W.detach().numpy()))
        muon.step()
    ours = steepest_descent([case], norm="spectral", rates=rates, keep=[10], momentum=0.9)
    ours, theirs = ours.weights[0, 0], W.detach().numpy()
    cosine = (ours * theirs).sum() / np.linalg.norm(ours) / np.linalg.norm(theirs)
    assert cosine > 0.95


@pytest.mark.parametrize("norm", NORMS)
def test_directions_have_norm_one_and_the_dual_norm_as_slope(norm):
    G = stream(0, "directions").standard_normal((5, 4, 6))
    D = steepest_direction(G, norm)
    np.testing.assert_allclose((D * G).sum(axis=(1, 2)), dual_norm(G, norm))
    plain = {"max": lambda X: abs(X).max(), "frobenius": np.linalg.norm}
    size = plain.get(norm, lambda X: np.linalg.norm(X, 2))
    np.testing.assert_allclose([size(each) for each in D], 1)
    np.testing.assert_allclose(steepest_direction(1e-200 * G, norm), D, atol=1e-12)
    assert not steepest_direction(np.zeros((1, 2, 2)), norm).any()


def test_the_signs_of_two_successors_alternate_and_the_third_token_falls():
    """By hand: the odds jump across their value, so only the third token moves on."""
    case = ContextTable(np.ones((1, 1)), np.array([[0.75, 0.25, 0.0]]), np.ones(1))
    rates = np.full((1, 2000), 0.03)
    path = steepest_descent([case], norm="max", rates=rates, keep=[1000, 1001, 1002, 2000])
    W = path.weights[:, 0, :, 0]
    np.testing.assert_allclose(W[:, 2], -0.03 * np.array([1000, 1001, 1002, 2000]))
    np.testing.assert_allclose(W[0, :2], W[2, :2])
    np.testing.assert_allclose(W[0, :2], W[3, :2])
    np.testing.assert_allclose(np.abs(W[1, :2] - W[0, :2]), 0.03)
    assert np.abs(W[:, 0] - W[:, 1] - np.log(3)).max() < 0.06


@pytest.mark.parametrize("norm", NORMS)
def test_separate_steps_do_as_a_general_solver_does(norm):
    """The direction of the last step: its norm, its ties, and its slope by cvxpy."""
    case, rates = CASES[1], np.full((1, 101), 0.05)
    path = steepest_descent([case], norm=norm, rates=rates, keep=[100, 101], rule="separate")
    before, after = path.weights[:, 0]
    projector, gradient = projector_onto_F(case), torch_gradient(case, before)
    outside = ((np.eye(30) - projector) @ (after - before).ravel()).reshape(5, 6)
    within = (projector @ (after - before).ravel()).reshape(5, 6)
    descent = (projector @ gradient.ravel()).reshape(5, 6)
    scale = np.linalg.norm(np.sqrt(case.weight)[:, None] * case.embeddings, 2)
    np.testing.assert_allclose(within, -descent / scale**2, atol=1e-9)
    assert decoder_norm(outside[None], norm)[0] == pytest.approx(0.05)
    X = cp.Variable((5, 6))
    size = {"max": cp.max(cp.abs(X)), "frobenius": cp.norm(X, "fro")}.get(norm, cp.sigma_max(X))
    limits = [size <= 1, projector @ cp.vec(X, "C") == 0]
    unit = gradient / np.linalg.norm(gradient)
    best = cp.Problem(cp.Minimize(cp.sum(cp.multiply(unit, X))), limits).solve(cp.SCS, eps=1e-7)
    reached = (unit * outside).sum() / 0.05 / best
    assert 0.9 < path.slope[1, 0] <= reached + 1e-4
    assert reached <= 1 + 1e-4


@pytest.mark.parametrize("norm", NORMS)
def test_separate_steps_maximize_the_margin_and_find_the_odds(norm):
    sizes = [solve_norm_margin(case, norm) for case in CASES]
    k = np.arange(1, 1001)
    rates = np.array([answer.size for answer in sizes])[:, None] / np.sqrt(k)
    path = steepest_descent(CASES, norm=norm, rates=rates, keep=[1000], rule="separate")
    for case, answer, W in zip(CASES, sizes, path.weights[0], strict=True):
        assert answer.fractions(case, W[None])[0] > 0.9
        assert case.excess(W) < 1e-3


@pytest.mark.parametrize("norm", NORMS)
def test_proportional_steps_never_raise_the_loss(norm):
    for case in CASES:
        bound, rng = largest_curvature(case, norm), stream(0, "curvature")
        rates = np.full((1, 60), 1 / bound)
        kinds = {"norm": norm, "rates": rates, "keep": range(1, 61), "rule": "proportional"}
        losses = [case.cross_entropy(W) for W in steepest_descent([case], **kinds).weights[:, 0]]
        assert (np.diff(losses) < 0).all()
        for _ in range(50):
            W, D = 3 * rng.standard_normal((2, 5, 6))
            D /= {"max": abs(D).max(), "frobenius": np.linalg.norm(D)}.get(
                norm, np.linalg.norm(D, 2)
            )
            logits = case.embeddings @ W.T
            q = np.exp(logits - logits.max(axis=1, keepdims=True))
            q /= q.sum(axis=1, keepdims=True)
            move = case.embeddings @ D.T
            variance = (q * move**2).sum(axis=1) - (q * move).sum(axis=1) ** 2
            assert case.weight @ variance <= bound


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rates": np.ones((1, 4))}, "`rates` must have a row for each table"),
        ({"momentum": 1.0}, "`momentum`"),
        ({"momentum": 0.5, "rule": "separate"}, "`momentum` must be 0 for the rule 'separate'"),
        ({"keep": [3, 2]}, "`keep` must be increasing"),
        ({"norm": "nuclear"}, "`norm`"),
    ],
)
def test_wrong_arguments_are_named(wrong, words):
    right = {"norm": "max", "rates": np.ones((3, 5)), "keep": [5]}
    with pytest.raises(ValueError, match=words):
        steepest_descent(CASES, **(right | wrong))

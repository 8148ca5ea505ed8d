"""Widest margins: closed forms, multipliers that are read one by one, and other decoders."""

import cvxpy as cp
import numpy as np
import pytest

from ntpcompanion.linear import ContextTable, project_onto_F
from ntpcompanion.linear.svm.norm_margins import (
    PROGRAMS,
    decoder_norm,
    dual_norm,
    least_spectral_norm,
    projector_onto_F,
    solve_norm_margin,
)
from ntpcompanion.randomness import stream
from tests.linear.cases import table

NORMS = list(PROGRAMS)
SHAPES = [(5, 4, 1, 6), (4, 5, 2, 4), (4, 6, 3, 7)]  # m, V, S, d


def plain_norm(W, norm):
    values = np.linalg.svd(W, compute_uv=False)
    return {"frobenius": (values**2).sum() ** 0.5, "max": abs(W).max(), "spectral": values.max()}[
        norm
    ]


def plain_dual(G, norm):
    values = np.linalg.svd(G, compute_uv=False)
    return {"frobenius": (values**2).sum() ** 0.5, "max": abs(G).sum(), "spectral": values.sum()}[
        norm
    ]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_multipliers_prove_that_no_decoder_is_smaller(shape, norm):
    for seed in range(7):
        case = ContextTable.random(*shape, stream(seed, "norms"))
        answer = solve_norm_margin(case, norm)
        for j, h in enumerate(case.embeddings):
            logits, inside = answer.weights @ h, case.distributions.toarray()[j] > 0
            assert np.ptp(logits[inside]) < 1e-8
            assert logits[inside].min() - logits[~inside].max() > 1 - 1e-8
        off = case.distributions.toarray() == 0
        assert (answer.dual[off] < 1e-8).all()
        assert abs(answer.dual.sum(axis=1)).max() < 1e-8
        # any decoder with ties and margins has ⟨ΓᵀE, W⟩ ≥ −Σ Γ off the supports
        bound = -answer.dual[off].sum() / plain_dual(answer.dual.T @ case.embeddings, norm)
        assert plain_norm(answer.weights, norm) >= bound * (1 - 1e-9)
        assert answer.size == pytest.approx(bound, rel=2e-6)
        assert answer.gap < 2e-6
        assert answer.tie_error < 1e-8


@pytest.mark.parametrize("norm", NORMS)
def test_one_context_is_in_closed_form(norm):
    """W = u hᵀ / ‖h‖_*², u the tokens a above one."""
    h = np.array([3.0, -4.0])
    u = np.array([1, 1, -1]) / 2 if norm == "max" else np.array([1, 1, -2]) / 3
    size = {"max": 0.5 / 7, "frobenius": (2 / 3) ** 0.5 / 5, "spectral": (2 / 3) ** 0.5 / 5}[norm]
    answer = solve_norm_margin(table([h], [[1, 1, 0]]), norm)
    assert answer.size == pytest.approx(size, rel=1e-6)
    right = np.sign(h) / 7 if norm == "max" else h / 25
    moved = answer.weights - np.outer(u, right)
    np.testing.assert_allclose(moved - moved[0], 0, atol=1e-5)


@pytest.mark.parametrize("norm", NORMS)
def test_norms_are_dual_and_ignore_shared_vectors(norm):
    rng = stream(0, "dual norms")
    W, G = rng.standard_normal((2, 6, 4, 3))
    G -= G.mean(axis=1, keepdims=True)
    moved = W + rng.standard_normal((6, 1, 3))
    np.testing.assert_allclose(decoder_norm(W, norm), decoder_norm(moved, norm))
    for w, g, size, dual in zip(W, G, decoder_norm(W, norm), dual_norm(G, norm), strict=True):
        best = cp.Variable(3)
        kind = {"frobenius": lambda X: cp.norm(X, "fro"), "max": lambda X: cp.max(cp.abs(X))}
        least = kind.get(norm, cp.sigma_max)(w - np.ones((4, 1)) @ cp.reshape(best, (1, 3), "C"))
        assert size == pytest.approx(cp.Problem(cp.Minimize(least)).solve(cp.SCS), rel=1e-3)
        assert dual == pytest.approx(plain_dual(g, norm))
        assert (w * g).sum() <= size * dual * (1 + 1e-9)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_projector_is_that_onto_F(size):
    case = ContextTable.random(4, 5, size, 6, stream(size, "projector"))
    W = stream(size, "decoder").standard_normal((5, 6))
    found = (projector_onto_F(case) @ W.ravel()).reshape(W.shape)
    np.testing.assert_allclose(found, project_onto_F(case, W), atol=1e-10)


@pytest.mark.parametrize("norm", NORMS)
def test_the_widest_margin_has_the_fraction_one_and_no_decoder_more(norm):
    case = ContextTable.random(4, 5, 2, 5, stream(1, "fractions"))
    answer = solve_norm_margin(case, norm)
    rng = stream(1, "any")
    inside = project_onto_F(case, rng.standard_normal((5, 5)))
    same = [answer.weights, 3 * answer.weights + inside + rng.standard_normal(5)]
    near = answer.weights + 0.1 * rng.standard_normal((100, 5, 5))
    np.testing.assert_allclose(answer.fractions(case, np.array(same)), 1, atol=1e-6)
    assert (answer.fractions(case, near) <= 1 + 1e-6).all()
    assert answer.fractions(case, -answer.weights[None])[0] < 0
    assert np.isnan(answer.fractions(case, inside[None])[0])


@pytest.mark.parametrize("norm", NORMS)
def test_a_table_that_is_not_separable_is_rejected(norm):
    with pytest.raises(ValueError, match="`table` is not separable"):
        solve_norm_margin(table([[1.0], [1.0]], [[1, 0], [0, 1]]), norm)
    assert least_spectral_norm(table([[1.0], [1.0]], [[1, 0], [0, 1]])) is None


def test_cosines_are_those_of_the_part_outside_F():
    """A tied decoder keeps its cosine whatever the odds within supports and the shifts are."""
    rng = np.random.default_rng(5)
    table = ContextTable.random(3, 4, 2, 5, rng)
    answer = solve_norm_margin(table, "frobenius")
    first, second = np.flatnonzero(table.support.toarray()[0])
    odds, other = np.zeros((4, 5)), rng.standard_normal((4, 5))
    odds[first], odds[second] = table.embeddings[0], -table.embeddings[0]
    shifted = 2 * answer.weights + 3 * odds + rng.standard_normal(5)
    pairs = np.nonzero(table.support.toarray())[1].reshape(3, 2)
    tokens = np.eye(4)[pairs[:, 0]] - np.eye(4)[pairs[:, 1]]
    basis = (tokens[:, :, None] * table.embeddings[:, None]).reshape(3, 20)
    rest = other.ravel() - basis.T @ np.linalg.lstsq(basis.T, other.ravel(), rcond=None)[0]
    rest = rest.reshape(4, 5) - rest.reshape(4, 5).mean(axis=0)
    unit = answer.weights - answer.weights.mean(axis=0)
    cosine = (rest * unit).sum() / np.linalg.norm(rest) / np.linalg.norm(unit)
    found = answer.cosines(table, np.stack([shifted, other]))
    assert found == pytest.approx([1, cosine], abs=1e-9)

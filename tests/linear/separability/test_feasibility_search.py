import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.linear.separability import feasibility_search as search
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import degenerate_tables


def basis_and_support(table):
    rows = table.embeddings / np.linalg.norm(table.embeddings, axis=1, keepdims=True)
    return np.linalg.svd(rows, full_matrices=False)[0][:, : table.dim], table.support.toarray()


@given(degenerate_tables(), st.integers(0, 100))
def test_projection_on_the_signs_obeys_its_optimality_conditions(given_table, seed):
    support = given_table.support.toarray()
    values = np.random.default_rng(seed).standard_normal(support.shape)
    gamma = search.project_signs(values, support)
    level = np.where(support, values - gamma, 0).sum(axis=1) / support.sum(axis=1)
    # nonnegative where Γ = 0 is enforced, zero elsewhere
    multiplier = values - gamma - level[:, None]
    assert np.abs(gamma.sum(axis=1)).max() < 1e-14 * values.size
    assert np.where(support, 0, gamma).max() <= 0
    assert np.abs(multiplier[support]).max() < 1e-14
    assert multiplier.min() > -1e-14
    assert np.abs(multiplier * gamma).max() < 1e-14


def test_the_descent_ends_at_the_projection_onto_the_cone_of_certificates(rng):
    basis, support = basis_and_support(ContextTable.random(12, 4, 2, 4, rng))
    X = search.minimize_to_decoder(basis, support, np.zeros((4, 4)), 2000)
    goal = np.where(support, 0.0, -1.0)
    gamma = search.project_signs(goal - basis @ X, support)
    assert np.abs(basis.T @ gamma).max() < 1e-9
    # Moreau: what is left over is orthogonal to the projection
    assert np.vdot(goal - gamma, gamma) == pytest.approx(0, abs=1e-8)
    assert np.linalg.norm(gamma) > 1


def test_no_certificate_comes_out_of_a_separable_table(rng):
    basis, support = basis_and_support(ContextTable.random(8, 4, 2, 8, rng))
    guess = search.project_signs(np.where(support, 0.0, -1.0), support)
    assert search.finish_certificate(basis, support, guess, 100) is None
    assert (
        search.finish_strict_certificate(
            basis, support, search.minimize_to_certificate(basis, support, guess, 100)
        )
        is None
    )


def test_a_strict_certificate_is_negative_at_every_pair_off_support(rng):
    basis, support = basis_and_support(ContextTable.random(30, 5, 2, 5, rng))
    found = search.finish_strict_certificate(
        basis, support, search.minimize_to_certificate(basis, support, np.zeros((30, 5)), 500)
    )
    assert found[~support].max() < 0
    assert np.abs(basis.T @ found).max() < 1e-12
    assert np.abs(found.sum(axis=1)).max() < 1e-12


def test_finished_weights_tie_exactly_and_move_nothing_else(rng):
    basis, support = basis_and_support(ContextTable.random(9, 5, 3, 6, rng))
    X = rng.standard_normal((6, 5))
    tied = search.finish_weights(basis, support, X, 200)
    logits = basis @ tied
    assert (
        np.where(support, logits, -np.inf).max(axis=1)
        - np.where(support, logits, np.inf).min(axis=1)
    ).max() < 1e-13
    assert abs(np.vdot(tied, X - tied)) < 1e-12


@pytest.mark.parametrize("descent", [search.minimize_to_decoder, search.minimize_to_certificate])
@pytest.mark.usefixtures("unchecked_shapes")
def test_gradients_of_both_descents_equal_finite_differences(rng, monkeypatch, descent):
    basis, support = basis_and_support(ContextTable.random(6, 5, 2, 3, rng))
    monkeypatch.setattr(search, "_lbfgs", lambda value, start, iterations, tick: value)
    start = np.zeros((3, 5)) if descent is search.minimize_to_decoder else np.zeros((6, 5))
    value = descent(basis, support, start, 1)
    point, direction = rng.standard_normal((2, start.size))
    step = 1e-6
    slope = (value(point + step * direction)[0] - value(point - step * direction)[0]) / (2 * step)
    assert value(point)[1] @ direction == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_a_finished_certificate_is_one_whatever_the_guess(scale):
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        basis, support = basis_and_support(ContextTable.random(8, 4, 2, 3, rng))
        gamma = search.finish_certificate(
            basis, support, scale * rng.standard_normal(support.shape), 500
        )
        if gamma is not None:
            found += 1
            size = np.abs(gamma).max()
            assert np.abs(gamma.sum(axis=1)).max() <= 1e-12 * size
            assert np.abs(basis.T @ gamma).max() <= 1e-9 * size
            assert gamma[~support].max() <= 0
            assert gamma[~support].min() < 0
    assert found >= 8

"""The SVM of the key-query matrix against a general solver, its optimality read off the data."""

import cvxpy as cp
import numpy as np
import pytest

from ntpcompanion.attention import TokenSequences, plant_tokens, solve_w_svm, stack_sequences
from ntpcompanion.attention.wsvm import differences
from ntpcompanion.linear import Verdict


def by_cvxpy(sequences, best):
    """The program as it is written."""
    W = cp.Variable((sequences.tokens.shape[-1], sequences.queries.shape[-1]))
    conditions = []
    for tokens, query, one in zip(sequences.tokens, sequences.queries, best, strict=True):
        leads = (tokens[one] - np.delete(tokens, one, axis=0)) @ W @ query
        conditions.append(leads >= 1)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(W)), conditions)
    problem.solve(solver=cp.CLARABEL)
    return W.value if problem.status == cp.OPTIMAL else None


@pytest.mark.parametrize("dim", [7, 12, 30])
def test_solutions_are_those_of_a_general_solver(rng, dim):
    drawn = plant_tokens(rng, count=6, length=4, dim=dim)
    found = solve_w_svm(drawn.sequences, drawn.best)
    wanted = by_cvxpy(drawn.sequences, drawn.best)
    assert found.verdict is Verdict.SEPARABLE
    assert np.linalg.norm(found.weights - wanted) < 1e-4 * np.linalg.norm(wanted)


def test_optimality_is_read_off_the_data(rng):
    drawn = plant_tokens(rng, count=6, length=4, dim=12)
    found = solve_w_svm(drawn.sequences, drawn.best, tol=1e-12)
    ahead, asked = differences(drawn.sequences, drawn.best)
    margins = np.einsum("itd,dk,itk->it", ahead, found.weights, asked)
    others = np.arange(4) != drawn.best[:, None]
    np.testing.assert_allclose(found.margins, margins, atol=1e-12)
    assert margins[others].min() > 1 - 1e-9
    assert found.multipliers.min() >= 0
    assert not found.multipliers[~others].any()
    made = np.einsum("it,itd,itk->dk", found.multipliers, ahead, asked)
    np.testing.assert_allclose(made, found.weights, atol=1e-5)
    slack = found.multipliers[others] * (margins[others] - 1)
    assert np.abs(slack).max() < 1e-5
    primal, dual = (found.weights**2).sum() / 2, found.multipliers.sum() - (made**2).sum() / 2
    assert 1 - dual / primal < 1e-10
    assert found.duality_gap <= 1e-12


def test_queries_of_another_size(rng):
    tokens, queries = rng.normal(size=(3, 3, 4)), rng.normal(size=(3, 2))
    data = TokenSequences(tokens, queries, np.ones(3))
    found, wanted = solve_w_svm(data, [0, 1, 2]), by_cvxpy(data, [0, 1, 2])
    assert found.weights.shape == (4, 2)
    np.testing.assert_allclose(found.weights, wanted, atol=1e-4 * np.abs(wanted).max())


def test_conditions_that_contradict_each_other_come_with_a_proof():
    tokens = np.array([[[1.0, 0.0], [0.0, 1.0]]] * 2)
    data = TokenSequences(tokens, np.array([[1.0], [2.0]]), np.ones(2))
    found = solve_w_svm(data, [0, 1])
    assert found.verdict is Verdict.NOT_SEPARABLE
    assert found.weights is None
    assert found.margins is None
    assert found.duality_gap == np.inf
    ahead, asked = differences(data, [0, 1])
    assert found.multipliers.min() >= 0
    assert found.multipliers.sum() > 0
    made = np.einsum("it,itd,itk->dk", found.multipliers, ahead, asked)
    np.testing.assert_allclose(made, 0, atol=1e-9 * found.multipliers.sum())


@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_refused(rng):
    drawn = plant_tokens(rng, count=4, length=3, dim=6)
    with pytest.raises(ValueError, match="`sequences` must be one data set of axes"):
        solve_w_svm(stack_sequences([drawn.sequences]), drawn.best[None])
    with pytest.raises(ValueError, match="`best` must hold positions 0 … 3 − 1"):
        solve_w_svm(drawn.sequences, [0, 1, 2, 3])
    with pytest.raises(ValueError, match="`best` must be a vector"):
        solve_w_svm(drawn.sequences, [0.0, 1.0, 2.0])

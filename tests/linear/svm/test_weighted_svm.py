import cvxpy as cp
import numpy as np
import pytest

from ntpcompanion.linear.dynamics.alignment import smallest_margins
from ntpcompanion.linear.separability.certificates import check_weights
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.svm import weighted_svm
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.svm.weighted_svm import project_onto_cone, solve_weighted_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import table

TWO = table([[2, 1], [1, 2]], [[1, 1, 0], [0, 1, 1]])


def by_clarabel(case, scale):
    W, support = cp.Variable(scale.shape), case.support.toarray()
    logits, conditions = case.embeddings @ W.T, []
    for j, row in enumerate(support):
        first, *others = np.flatnonzero(row)
        conditions += [logits[j, first] == logits[j, z] for z in others]
        conditions += [logits[j, first] - logits[j, v] >= 1 for v in np.flatnonzero(~row)]
    objective = cp.Minimize(cp.sum_squares(cp.multiply(np.sqrt(scale), W)))
    cp.Problem(objective, conditions).solve(solver=cp.CLARABEL)
    return W.value


@pytest.mark.parametrize(
    ("scale", "ninths"),
    [
        (np.ones((3, 2)), [[4, -5], [1, 1], [-5, 4]]),
        (np.array([[6, 3], [9, 9], [3, 6]]) / 4, [[3, -6], [0, 0], [-6, 3]]),
    ],
)
def test_two_contexts_by_hand(scale, ninths):
    answer = solve_weighted_svm(TWO, scale)
    np.testing.assert_allclose(answer.weights, np.array(ninths) / 9, atol=1e-12)
    assert answer.gap < 1e-12


@pytest.mark.parametrize("support_size", [1, 2, 3])
def test_a_general_solver_agrees(support_size, rng):
    case = ContextTable.random(6, 5, support_size, 8, rng)
    scale = rng.uniform(0.1, 10, (5, 8))
    answer, other = solve_weighted_svm(case, scale), by_clarabel(case, scale)
    np.testing.assert_allclose(answer.weights, other, atol=1e-4)
    assert np.sum(scale * answer.weights**2) <= np.sum(scale * other**2) * (1 + 1e-6)
    assert smallest_margins(case, answer.weights[None])[0] > 1 - 1e-9
    assert np.abs(project_onto_F(case, answer.weights)).max() < 1e-9
    assert -1e-12 < answer.gap < 1e-9


@pytest.mark.parametrize("support_size", [1, 2, 3])
def test_the_projection_onto_the_cone_is_that_of_a_general_solver(support_size, rng):
    case = ContextTable.random(6, 5, support_size, 8, rng)
    scale, target = rng.uniform(0.1, 10, (5, 8)), rng.standard_normal((5, 8))
    found, D = project_onto_cone(case, scale, target), cp.Variable(scale.shape)
    logits, conditions = case.embeddings @ D.T, []
    for j, row in enumerate(case.support.toarray()):
        first, *others = np.flatnonzero(row)
        conditions += [logits[j, first] == logits[j, z] for z in others]
        conditions += [logits[j, first] >= logits[j, v] for v in np.flatnonzero(~row)]
    away = cp.sum_squares(cp.multiply(np.sqrt(scale), D - target))
    cp.Problem(cp.Minimize(away), conditions).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(found, D.value, atol=1e-4)
    np.testing.assert_allclose(project_onto_cone(case, scale, found), found, atol=1e-9)
    inside = solve_weighted_svm(case, scale).weights
    np.testing.assert_allclose(project_onto_cone(case, scale, inside), inside, atol=1e-9)


def test_a_table_that_is_not_separable_is_refused():
    opposite = table([[1, 0], [1, 0]], [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match=r"^`table` must be separable"):
        solve_weighted_svm(opposite, np.ones((2, 2)))


def test_weights_are_positive_and_of_the_shape_of_a_decoder():
    with pytest.raises(ValueError, match=r"^`scale` must be positive and finite, got 0\.0"):
        solve_weighted_svm(TWO, np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"^`scale`"):
        solve_weighted_svm(TWO, np.ones((2, 3)))


@pytest.mark.parametrize("power", [-8, -4, 4, 8])
def test_an_answer_does_not_depend_on_the_unit_of_length(power, rng):
    case, scale = ContextTable.random(6, 5, 2, 8, rng), rng.uniform(0.1, 10, (5, 8))
    longer = ContextTable(10.0**power * case.embeddings, case.next_token, case.weight)
    answer = solve_weighted_svm(longer, scale)
    np.testing.assert_allclose(
        answer.weights * 10.0**power, solve_weighted_svm(case, scale).weights, atol=1e-9
    )
    assert abs(answer.gap) < 1e-9


def test_an_answer_that_is_not_proved_is_not_given(monkeypatch):
    monkeypatch.setattr(weighted_svm, "PROVED", -1.0)
    with pytest.raises(
        RuntimeError, match=r"^rounding leaves a relative gap of .*, more than -1\."
    ):
        solve_weighted_svm(TWO, np.ones((3, 2)))


@pytest.mark.parametrize("spread", [1, 3, 5])
@pytest.mark.parametrize("support_size", [1, 2])
def test_embeddings_of_very_different_lengths(spread, support_size, rng):
    case = ContextTable.random(6, 5, support_size, 8, rng)
    factors = 10 ** rng.uniform(-spread, spread, (6, 1))
    case = ContextTable(case.embeddings * factors, case.next_token, case.weight)
    exact = solve_ntp_svm(case, tol=1e-9).weights
    weights = solve_weighted_svm(case, np.ones((5, 8))).weights
    assert check_weights(case, weights * (1 + 1e-9)).holds
    assert np.linalg.norm(weights) == pytest.approx(np.linalg.norm(exact), rel=1e-8)
    assert np.linalg.norm(weights - exact) < 1e-4 * np.linalg.norm(weights)

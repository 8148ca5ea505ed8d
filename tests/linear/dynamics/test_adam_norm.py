import numpy as np
import pytest

from ntpcompanion.linear.dynamics.adam_norm import (
    in_support_hessian,
    least_dominating_diagonal,
    oscillation_amplitude,
    preconditioned_flow,
    predict_adam_weights,
    predict_noisy_adam,
)
from ntpcompanion.linear.dynamics.descent import descend
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.separability.compatibility import check_compatibility
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.svm.weighted_svm import project_onto_cone
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import table

TWO = table([[2, 1], [1, 2]], [[1, 1, 0], [0, 1, 1]])


@pytest.fixture
def random_table(rng):
    return ContextTable.random(5, 4, 2, 5, rng)


def test_weights_of_two_contexts_by_hand(rng):
    # signs (+, +), (−, −), (+, +) for the three words make all terms of H x agree
    found = predict_adam_weights(TWO, rng=rng)
    np.testing.assert_allclose(found.weights, [[1.5, 0.75], [2.25, 2.25], [0.75, 1.5]], rtol=1e-4)
    correlation = found.oscillation @ found.oscillation.T
    signs = np.array([1, 1, -1, -1, 1, 1])
    np.testing.assert_allclose(correlation, np.outer(signs, signs), atol=1e-2)


def test_weights_of_one_context_are_proportional_to_its_embedding(rng):
    # H = u uᵀ / 4 with u = (h, −h): the weights are |u_i| Σ|u| / 4
    case = table([[3, -4, 1]], [[1, 1, 0]])
    H = in_support_hessian(case)[:6, :6]
    np.testing.assert_allclose(H, np.outer(u := [3, -4, 1, -3, 4, -1], u) / 4)
    found = least_dominating_diagonal(H, rng=rng)
    np.testing.assert_allclose(found.diagonal, np.abs(u) * 16 / 4, rtol=1e-6)


def test_the_hessian_is_the_difference_of_gradients_far_out(random_table):
    W = check_compatibility(random_table).finite_part
    W = W + 40 * solve_ntp_svm(random_table).weights
    directions = np.eye(W.size).reshape(W.size, *W.shape)
    step = 1e-5
    columns = [
        (random_table.gradient(W + step * e) - random_table.gradient(W - step * e)).ravel()
        for e in directions
    ]
    np.testing.assert_allclose(
        in_support_hessian(random_table), np.array(columns) / (2 * step), atol=1e-8
    )


def test_the_diagonal_is_that_of_a_general_solver(random_table, rng):
    import cvxpy as cp

    H = in_support_hessian(random_table)
    P = cp.Variable(len(H))
    problem = cp.Problem(cp.Minimize(cp.sum(P)), [cp.diag(P) - H >> 0])
    problem.solve(solver=cp.CLARABEL)
    found = least_dominating_diagonal(H, rng=rng, tol=1e-9)
    assert found.diagonal.sum() == pytest.approx(problem.value, rel=1e-6)
    np.testing.assert_allclose(found.diagonal, P.value, rtol=1e-3)


def test_the_diagonal_dominates_and_its_gap_is_honest(random_table, rng):
    H = in_support_hessian(random_table)
    best = least_dominating_diagonal(H, rng=rng, tol=1e-10).diagonal.sum()
    for tol in (1e-1, 1e-3):
        found = least_dominating_diagonal(H, rng=rng, tol=tol)
        assert np.linalg.eigvalsh(np.diag(found.diagonal) - H)[0] > -1e-12
        assert best <= found.diagonal.sum() * (1 + 1e-12)
        assert found.diagonal.sum() <= best * (1 + found.gap) * (1 + 1e-9)
        assert found.gap <= tol


def test_the_oscillation_is_critical_and_its_entries_are_equally_large(random_table, rng):
    found = predict_adam_weights(random_table, rng=rng, tol=1e-10)
    Y, P = found.oscillation, found.weights.ravel()
    np.testing.assert_allclose(np.linalg.norm(Y, axis=1), 1)
    np.testing.assert_allclose(in_support_hessian(random_table) @ Y, P[:, None] * Y, atol=1e-4)


@pytest.mark.parametrize("beta2", [0.9, 0.99])
def test_adam_ends_with_the_moments_and_the_loss_that_were_predicted(beta2, rng):
    found = predict_adam_weights(TWO, rng=rng)
    # W* is zero; this start separates widely, so that hardly anything leaks out of the supports
    start = np.array([[4.0, -8.0], [0.1, 0.2], [-8.0, 4.0]])
    run = {"optimizer": "adam", "learning_rate": 0.01, "betas": (0.0, beta2), "start": start}
    (end,) = descend(TWO, steps=3000, keep=[3000], rng=rng, **run)
    np.testing.assert_allclose(np.sqrt(end.second_moment), found.root_moments(0.01, 0), rtol=0.02)
    logits = TWO.embeddings @ end.weights.T
    across = np.array([logits[0, 0] - logits[0, 1], logits[1, 1] - logits[1, 2]])
    # two equally likely words with log-odds x: a divergence of x²/8
    divergence = np.mean(across**2) / 8
    assert divergence == pytest.approx(found.divergence(0.01, 0), rel=0.05)


def test_the_amplitude_is_half_a_step_less_what_momentum_averages_out():
    # Adam's own recursion on a gradient of alternating sign: w moves by ± twice the amplitude
    mean, square, moves = 0.0, 1.0, []
    for k in range(400):
        gradient = (-1.0) ** k
        mean = 0.8 * mean + 0.2 * gradient
        moves.append(0.01 * mean / np.sqrt(square))
    assert abs(moves[-1]) == pytest.approx(2 * oscillation_amplitude(0.01, 0.8), rel=1e-9)
    assert moves[-1] * moves[-2] < 0


def test_an_entry_without_curvature_is_named(rng):
    with pytest.raises(ValueError, match=r"entry \(2, 0\) has none: let token 2 share the support"):
        predict_adam_weights(table([[1, 2]], [[1, 1, 0]]), rng=rng)
    with pytest.raises(ValueError, match=r"entry \(0, 1\) has none.*not 0 in dimension 1"):
        predict_adam_weights(table([[1, 0], [2, 0]], [[1, 1, 0], [0, 1, 1]]), rng=rng)


def test_a_solver_that_is_stopped_early_says_so(random_table, rng):
    H = in_support_hessian(random_table)
    with pytest.raises(RuntimeError, match=r"a gap of .* after 50 iterations\. Raise `tol`"):
        least_dominating_diagonal(H, rng=rng, tol=1e-15, max_iterations=50)


def test_the_scale_of_a_hessian_does_not_matter_and_what_is_none_is_refused(random_table):
    H = in_support_hessian(random_table)
    one, large = (
        least_dominating_diagonal(scale * H, rng=np.random.default_rng(0))
        for scale in (1.0, 2.0**700)
    )
    assert np.array_equal(one.diagonal * 2.0**700, large.diagonal)
    for wrong in ([[2.0, 9.0], [1.0, 2.0]], [[-1.0, 0.3], [0.3, -1.0]], [[0.0, 0.0], [0.0, 1.0]]):
        with pytest.raises(ValueError, match="`hessian` must be symmetric with a positive diag"):
            least_dominating_diagonal(np.array(wrong), rng=np.random.default_rng(0))


def pair_gradients(case):
    """(q_j − e_z) h_jᵀ of every pair at W*, where q = p, and the probabilities of pairs."""
    p, found, weight = case.distributions.toarray(), [], []
    for j, z in np.argwhere(p > 0):
        found.append(np.outer(p[j] - np.eye(case.vocab_size)[z], case.embeddings[j]))
        weight.append(case.weight[j] * p[j, z])
    return np.array(found), np.array(weight)


@pytest.mark.parametrize("batch_size", [1, 2])
def test_norm_and_tilt_are_moments_of_enumerated_batches(random_table, batch_size):
    g, weight = pair_gradients(random_table)
    if batch_size == 2:
        g, weight = (g[:, None] + g).reshape(-1, *g.shape[1:]) / 2, np.outer(weight, weight).ravel()
    mean, second, third = (np.tensordot(weight, g**power, 1) for power in (1, 2, 3))
    np.testing.assert_allclose(mean, 0, atol=1e-12)
    found = predict_noisy_adam(random_table, betas=(0.5, 0.8), batch_size=batch_size)
    np.testing.assert_allclose(found.weights, np.sqrt(second), rtol=1e-9)
    # Σ_i (β₁β₂)^i of the weights that m and v give to one and the same gradient
    common = sum(0.5 * 0.5**i * 0.2 * 0.8**i for i in range(200))
    np.testing.assert_allclose(found.tilt, common * third / second / 2, rtol=1e-9, atol=1e-15)
    curvature = np.diag(in_support_hessian(random_table)).reshape(second.shape)
    np.testing.assert_allclose(batch_size * second, curvature, rtol=1e-9)


def test_the_mean_step_of_adam_at_rest_is_the_tilt_over_the_norm(rng):
    """Adam's own recursion on gradients of W*, without moving: many independent chains."""
    case = table([[2, 1], [1, 2]], [[8, 2, 0], [0, 6, 4]])
    g, weight = pair_gradients(case)
    betas, chains, steps, burn = (0.9, 0.97), 3000, 1200, 400
    found = predict_noisy_adam(case, betas=betas)
    mean, square = np.zeros((chains, 6)), np.tile(found.weights.ravel() ** 2, (chains, 1))
    total = np.zeros((chains, 6))
    for k in range(steps):
        drawn = g.reshape(-1, 6)[rng.choice(len(g), chains, p=weight)]
        mean = betas[0] * mean + (1 - betas[0]) * drawn
        square = betas[1] * square + (1 - betas[1]) * drawn**2
        total += (k >= burn) * mean / np.sqrt(square) / (steps - burn)
    step, error = total.mean(axis=0), total.std(axis=0) / chains**0.5
    predicted = (-found.tilt / found.weights).ravel()
    assert np.abs(predicted).max() > 20 * error.max()
    assert (np.abs(step - predicted) < 5 * error + 0.1 * np.abs(predicted)).all()


def test_the_flow_is_gradient_flow_in_stretched_coordinates(random_table, rng):
    """A norm whose weights depend on the dimension only is one of the embeddings."""
    stretch, times = rng.uniform(0.5, 2, 5), np.array([0.5, 20.0, 3000.0])
    found = preconditioned_flow(random_table, np.tile(stretch**2, (4, 1)), times)
    other = ContextTable(
        random_table.embeddings / stretch, random_table.next_token, random_table.weight
    )
    flow = gradient_flow(other, np.log(times), start=np.zeros((4, 5))).weights
    np.testing.assert_allclose(found, flow / stretch, rtol=1e-5, atol=1e-5)


def test_the_tilted_flow_has_its_velocity_and_ends_with_the_projected_one(random_table, rng):
    scale, tilt = rng.uniform(0.5, 2, (4, 5)), 0.01 * rng.standard_normal((4, 5))
    times = np.array([2.999, 3.0, 3.001, 3e5, 6e5])
    path = preconditioned_flow(random_table, scale, times, tilt=tilt)
    velocity = (tilt - random_table.gradient(path[1])) / scale
    np.testing.assert_allclose((path[2] - path[0]) / 0.002, velocity, atol=1e-4)
    end = project_onto_cone(random_table, scale, tilt / scale)
    assert np.abs(end).max() > 1e-4
    np.testing.assert_allclose((path[4] - path[3]) / 3e5, end, atol=1e-5)


def test_wrong_arguments_of_norm_and_flow_are_named(random_table):
    with pytest.raises(ValueError, match="`betas`"):
        predict_noisy_adam(random_table, betas=(0.9, 1.0))
    with pytest.raises(ValueError, match=r"entry \(2, 0\) has none: let token 2 share"):
        predict_noisy_adam(table([[1, 2]], [[1, 1, 0]]), betas=(0.9, 0.99))
    with pytest.raises(ValueError, match="`times` must be positive and increasing"):
        preconditioned_flow(random_table, np.ones((4, 5)), np.array([2.0, 1.0]))
    with pytest.raises(ValueError, match="`weights`"):
        preconditioned_flow(random_table, np.zeros((4, 5)), np.array([1.0]))
    with pytest.raises(ValueError, match=r"`weights` must be a matrix of shape \(4, 5\)"):
        preconditioned_flow(random_table, np.ones((1, 5)), np.array([1.0]))

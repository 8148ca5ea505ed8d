"""The limit of label smoothing against closed forms, its own multipliers read one by one, and a
minimization in 60 digits.
"""

import cvxpy as cp
import mpmath
import numpy as np
import pytest
import torch
from scipy.special import softmax

from ntpcompanion.linear import ContextTable, implied_table, solve_ntp_svm
from ntpcompanion.linear.svm import label_smoothing
from ntpcompanion.linear.svm.label_smoothing import smoothed_decoders, smoothing_limit
from ntpcompanion.linear.svm.margin_programs import constraint_pairs
from ntpcompanion.randomness import stream

SHAPES = [(5, 4, 1, 3), (6, 5, 2, 5), (4, 5, 3, 6)]  # m, V, S, d


def draw(shape, seed):
    return ContextTable.random(*shape, stream(seed, "smoothing"))


def cosine(a, b):
    return float((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))


def separable(shape, count):
    tables = (draw(shape, seed) for seed in range(50))
    return [t for t in tables if solve_ntp_svm(t).weights is not None][:count]


@pytest.mark.parametrize("shape", SHAPES)
def test_multipliers_prove_that_no_decoder_has_a_smaller_mean_margin(shape):
    for table in separable(shape, 3):
        limit = smoothing_limit(table)
        off = ~table.support.toarray()
        logits = table.embeddings @ limit.weights.T
        tops = np.where(off, -np.inf, logits).max(1, keepdims=True)
        margins = (tops - logits)[off]
        assert np.ptp(np.where(off, tops, logits), axis=1).max() < 1e-8
        assert margins.min() > 1 - 1e-8
        mean = (np.broadcast_to(table.weight[:, None], off.shape)[off] * margins).sum()
        assert limit.mean_margin == pytest.approx(mean)
        # the proof: Γ weighs ties and margins of any other decoder by the same sum
        assert (limit.dual[off] <= 1e-9).all()
        assert np.abs(limit.dual.sum(axis=1)).max() < 1e-8
        other = stream(0, "any").standard_normal(limit.weights.shape)
        first = table.support.toarray().argmax(axis=1)
        lifted = table.embeddings @ other.T
        gaps = lifted[np.arange(len(first)), first][:, None] - lifted
        weighed = (np.broadcast_to(table.weight[:, None], off.shape) * gaps)[off].sum()
        assert (limit.dual * lifted).sum() == pytest.approx(weighed)
        assert -limit.dual[off].sum() == pytest.approx(mean)
        assert abs(limit.gap) < 1e-8
        assert limit.residual < 1e-8


def test_independent_embeddings_have_equal_margins():
    table = draw((4, 6, 2, 7), 0)
    inside = table.support.toarray()
    known = np.linalg.pinv(table.embeddings) @ (inside - inside.mean(axis=1, keepdims=True))
    limit = smoothing_limit(table)
    np.testing.assert_allclose(limit.weights, known.T, atol=1e-8)
    assert limit.proved_unique
    assert limit.mean_margin == pytest.approx(4)


def test_where_uniqueness_is_proved_no_other_decoder_has_the_sum():
    """The program again: how far each of three random functions of W goes at the least sum."""
    for table in separable((4, 4, 1, 2), 2):
        limit = smoothing_limit(table)
        assert limit.proved_unique
        W, goals = cp.Variable((4, 2)), stream(0, "goals").standard_normal((3, 4, 2))
        _, (rows, anchors, tokens) = constraint_pairs(table)
        logits = table.embeddings @ W.T
        margins = logits[rows, anchors] - logits[rows, tokens]
        least = [margins >= 1, table.weight[rows] @ margins <= limit.mean_margin + 1e-9]
        for goal in goals:
            value = cp.sum(cp.multiply(goal, W))
            program = cp.Problem(cp.Maximize(value), [*least, cp.sum(W, axis=0) == 0])
            assert program.solve(solver=cp.HIGHS) == pytest.approx(
                (goal * limit.weights).sum(), abs=1e-6
            )


def test_multipliers_of_zero_leave_uniqueness_open():
    table = ContextTable(
        np.array([[0.0, 1.0], [-1.0, 1.0], [1.0, -1.0]]),
        np.eye(4)[[2, 0, 3]],
        np.array([0.5, 0.25, 0.25]),
    )
    assert not smoothing_limit(table).proved_unique


def test_tables_that_are_not_separable_have_the_limit_of_the_implied_table():
    """The smallest ε that Newton's method reaches, and the direction of growth before it."""
    implied = (implied_table(draw((6, 4, 1, 3), seed)) for seed in range(60))
    grown = [t for t in implied if t.case.name == "IMPLIED_TABLE"][:3]
    for table in (each.original for each in grown):
        rng = stream(0, "teacher")
        for towards in (None, rng.dirichlet(np.full(4, 3.0), size=6)):
            late = smoothed_decoders(table, (0.1, 1e-3, 1e-6, 1e-9, 1e-11), towards)
            limit = smoothing_limit(table, towards)
            assert limit.proved_unique
            assert cosine(late[-1] - late[-2], limit.weights) > 0.99
    table = ContextTable(np.ones((2, 1)), np.eye(2), np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match="has a minimizer"):
        smoothing_limit(table)


def test_predictions_of_another_table_or_without_a_token_are_rejected():
    table = draw((5, 4, 1, 3), 0)
    for solve in (smoothing_limit, lambda table, u: smoothed_decoders(table, (0.1,), u)):
        for wrong in (np.eye(4)[[0, 1, 2, 3, 0]], np.full((5, 4), 0.5)):
            with pytest.raises(ValueError, match="`towards` must hold positive probabilities"):
                solve(table, wrong)
        with pytest.raises(ValueError, match=r"`towards` must have the shape \(5, 4\)"):
            solve(table, np.full((6, 4), 0.25))


@pytest.mark.parametrize("epsilon", [0.0, -0.1, 1.1])
def test_a_smoothing_lies_above_0(epsilon):
    with pytest.raises(ValueError, match="`smoothings"):
        smoothed_decoders(draw((5, 4, 1, 3), 0), (epsilon,))


@pytest.mark.parametrize("temperature", [0.5, 1.0, 20.0])
def test_a_student_has_the_log_odds_of_a_teacher_over_the_temperature(temperature):
    """Where some decoder has them; else, at high temperatures, those of least squares."""
    table, rng = draw((5, 4, 1, 3), 0), stream(0, "teacher")
    teacher = rng.standard_normal((4, 3))
    teacher -= teacher.mean(axis=0)
    logits = table.embeddings @ teacher.T
    (student,) = smoothed_decoders(table, (1.0,), softmax(logits / temperature, axis=1))
    np.testing.assert_allclose(student * temperature, teacher, atol=1e-6)
    other = rng.standard_normal((5, 4))
    (student,) = smoothed_decoders(table, (1.0,), softmax(other / 1e5, axis=1))
    root = np.sqrt(table.weight)[:, None]
    wanted = root * (other - other.mean(axis=1, keepdims=True))
    fit = np.linalg.lstsq(root * table.embeddings, wanted, rcond=None)[0].T
    np.testing.assert_allclose(student * 1e5, fit, atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_smoothed_decoders_have_no_gradient(shape):
    """By torch's cross-entropy with label smoothing, on tables that may not be separable."""
    for seed in range(4):
        table = draw(shape, seed)
        for epsilon, W in zip((0.2, 1e-3), smoothed_decoders(table, (0.2, 1e-3)), strict=True):
            weights = torch.tensor(W, requires_grad=True)
            logits = torch.tensor(table.embeddings) @ weights.T
            loss = torch.nn.functional.cross_entropy(
                logits,
                torch.tensor(table.distributions.toarray()),
                reduction="none",
                label_smoothing=epsilon,
            )
            (torch.tensor(table.weight) @ loss).backward()
            assert weights.grad.abs().max() < 1e-11
            basis = np.linalg.qr(table.embeddings.T)[0]
            np.testing.assert_allclose(W @ basis @ basis.T, W, atol=1e-8)


@pytest.mark.slow
def test_with_sixty_digits_the_direction_is_the_limit():
    """Newton's method by mpmath at ε = 10⁻²⁵, on a table without equal margins."""
    both = ((smoothing_limit(t), solve_ntp_svm(t).weights, t) for t in separable((5, 4, 1, 3), 12))
    limit, svm, table = next(one for one in both if cosine(one[0].weights, one[1]) <= 0.95)
    assert limit.proved_unique
    with mpmath.workdps(60):
        W = minimize_in_many_digits(table, [mpmath.mpf(10) ** -k for k in range(1, 26)])
    assert cosine(W, limit.weights) > 0.99
    assert cosine(W, limit.weights) > cosine(W, svm)


def minimize_in_many_digits(table, smoothings):
    """The decoder without a row for the last token, in coordinates of the embeddings."""
    V, d = table.vocab_size, table.dim
    E = [[mpmath.mpf(x) for x in row] for row in table.embeddings]
    p, pi = table.distributions.toarray(), [mpmath.mpf(x) for x in table.weight]
    x = mpmath.zeros((V - 1) * d, 1)
    for epsilon in smoothings:
        for _ in range(300):
            gradient, hessian = mpmath.zeros((V - 1) * d, 1), mpmath.zeros((V - 1) * d)
            probabilities = []
            for h in E:
                logits = [sum(x[v * d + i] * h[i] for i in range(d)) for v in range(V - 1)] + [0]
                powers = [mpmath.exp(z - max(logits)) for z in logits]
                probabilities.append([power / sum(powers) for power in powers])
            for h, q, row, w in zip(E, probabilities, p, pi, strict=True):
                for v in range(V - 1):
                    target = (1 - epsilon) * mpmath.mpf(row[v]) + epsilon / V
                    for i in range(d):
                        gradient[v * d + i] += w * (q[v] - target) * h[i]
                        for u in range(V - 1):
                            curve = w * q[v] * ((u == v) - q[u])
                            for k in range(d):
                                hessian[v * d + i, u * d + k] += curve * h[i] * h[k]
            if max(abs(g) for g in gradient) < epsilon * mpmath.mpf(10) ** -12:
                break
            step = mpmath.lu_solve(hessian, gradient)
            reach = max(abs(s) for s in step) * 4
            x -= step * (mpmath.log1p(reach) / reach)
        else:
            raise AssertionError(f"Newton's method does not end at {epsilon}.")
    W = np.array([float(value) for value in x]).reshape(V - 1, d)
    W = np.vstack([W, np.zeros(d)])
    return W - W.mean(axis=0)


def test_a_table_that_the_program_separates_needs_no_search(monkeypatch):
    """Near the threshold the search for a decoder or a certificate ends undecided."""
    table = ContextTable.random(6, 4, 2, 8, stream(0, "separable"))
    expected = smoothing_limit(table)

    def search(table):
        raise RuntimeError("undecided")

    monkeypatch.setattr(label_smoothing, "implied_table", search)
    assert smoothing_limit(table).weights == pytest.approx(expected.weights)
    clash = ContextTable(np.ones((2, 1)), np.eye(2, 3), np.array([0.5, 0.5]))
    with pytest.raises(RuntimeError, match="undecided"):
        smoothing_limit(clash)

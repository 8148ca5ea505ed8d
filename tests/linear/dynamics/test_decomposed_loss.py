import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ntpcompanion.linear.dynamics.decomposed_loss import DecomposedLoss, split_bases
from ntpcompanion.linear.separability.compatibility import CompatibilityVerdict, check_compatibility
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import degenerate_tables, table
from tests.oracles import ties


@given(degenerate_tables(), st.integers(0, 100))
def test_the_bases_are_orthonormal_and_span_what_they_say(given_table, seed):
    bases = split_bases(given_table)
    W = np.random.default_rng(seed).standard_normal((given_table.vocab_size, given_table.dim))
    flat = np.concatenate([bases.finite, bases.growing]).reshape(-1, W.size)
    assert np.allclose(flat @ flat.T, np.eye(len(flat)), atol=1e-12)
    projected = np.tensordot(np.tensordot(bases.finite, W, 2), bases.finite, 1)
    assert np.allclose(projected, project_onto_F(given_table, W), atol=1e-9)
    rank = np.linalg.matrix_rank(
        given_table.embeddings
        / np.maximum(np.linalg.norm(given_table.embeddings, axis=1, keepdims=True), 1e-9)
    )
    assert len(flat) == (given_table.vocab_size - 1) * rank
    unit = given_table.embeddings / np.maximum(
        np.linalg.norm(given_table.embeddings, axis=1, keepdims=True), 1e-9
    )
    growing = bases.growing.reshape(len(bases.growing), W.size)
    assert np.abs(ties(unit, given_table.support.toarray()) @ growing.T).max(initial=0) < 1e-9


def compatible(given_table):
    return check_compatibility(given_table).verdict is CompatibilityVerdict.COMPATIBLE


def moderate(given_table):
    lengths = np.linalg.norm(given_table.embeddings, axis=1)
    return lengths.max() < 30 and lengths[lengths > 0].min(initial=1) > 0.03


@given(degenerate_tables(), st.integers(0, 100), st.sampled_from([0.1, 1.0, 10.0]))
def test_gradient_and_excess_are_those_of_the_table(given_table, seed, size):
    assume(compatible(given_table) and moderate(given_table))
    loss = DecomposedLoss(given_table)
    W = size * np.random.default_rng(seed).standard_normal(loss.finite_part.shape)
    finite, growing = loss.coordinates(W)
    point = loss.point(finite, growing, 0.0)
    inside, outside = loss.gradient(point)
    gradient = np.tensordot(inside, loss.bases.finite, 1) + np.tensordot(
        outside, loss.bases.growing, 1
    )
    assert np.allclose(
        gradient, given_table.gradient(W), atol=1e-9 * (1 + np.abs(given_table.embeddings).max())
    )
    assert math.exp(loss.log_excess(point)) == pytest.approx(
        given_table.excess(W), rel=1e-7, abs=1e-12
    )


def test_the_scale_changes_nothing_but_the_unit(rng):
    loss = DecomposedLoss(ContextTable.random(8, 5, 2, 9, rng))
    finite, growing = (
        rng.standard_normal(len(loss.bases.finite)),
        rng.standard_normal(len(loss.bases.growing)),
    )
    for log_scale in (-5.0, 2.0):
        scaled, plain = (
            loss.point(finite / math.exp(log_scale), growing, log_scale),
            loss.point(finite, growing, 0.0),
        )
        assert loss.log_excess(scaled) == pytest.approx(loss.log_excess(plain), rel=1e-12)
        for one, other in zip(loss.gradient(scaled), loss.gradient(plain), strict=True):
            assert np.allclose(one * math.exp(log_scale), other, rtol=1e-10, atol=1e-14)
        assert np.allclose(
            loss.weights(finite / math.exp(log_scale), growing, log_scale),
            loss.weights(finite, growing),
        )


def test_the_hessian_is_the_derivative_of_the_gradient(rng):
    loss, step = DecomposedLoss(ContextTable.random(6, 5, 2, 7, rng)), 1e-6
    finite, growing = (
        rng.standard_normal(len(loss.bases.finite)),
        rng.standard_normal(len(loss.bases.growing)),
    )
    for log_scale in (0.0, -3.0):
        scale = math.exp(log_scale)
        inside, mixed, outside = loss.hessian(loss.point(finite, growing, log_scale))
        for k in range(len(finite)):
            move = step * np.eye(len(finite))[k]
            up, down = (
                loss.gradient(loss.point(finite + sign * move, growing, log_scale))
                for sign in (1, -1)
            )
            assert np.allclose((up[0] - down[0]) / (2 * step), inside[k], atol=1e-7)
            assert np.allclose((up[1] - down[1]) / (2 * step), scale * mixed[k], atol=1e-7)
        for k in range(len(growing)):
            move = step * np.eye(len(growing))[k]
            up, down = (
                loss.gradient(loss.point(finite, growing + sign * move, log_scale))
                for sign in (1, -1)
            )
            assert np.allclose((up[0] - down[0]) / (2 * step), mixed[:, k], atol=1e-6)
            assert np.allclose((up[1] - down[1]) / (2 * step), outside[:, k], atol=1e-6)


def test_the_curvature_of_the_limit_is_approached_as_the_margins_grow(rng):
    drawn = ContextTable.random(6, 5, 3, 7, rng)
    loss = DecomposedLoss(drawn)
    growing = loss.coordinates((np.linalg.pinv(drawn.embeddings) @ drawn.support.toarray()).T)[1]
    inside = loss.hessian(loss.point(np.zeros(len(loss.bases.finite)), 50 * growing, 0.0))[0]
    assert np.allclose(loss.limit_curvature(), inside, rtol=0, atol=1e-12)


def exact_gradient(loss, finite, growing, log_scale):
    """∇CE / s from the same logits, with 60 digits and plain differences q − p."""
    getcontext().prec = 60
    exact = np.vectorize(lambda x: Decimal(float(x)), otypes=[object])
    scale = Decimal(log_scale).exp()
    off = np.zeros((loss.p.size, len(growing)))
    off[~loss.support.ravel()] = loss.growing_logits
    moved = scale * (exact(loss.finite_logits) @ exact(finite)) + exact(off) @ exact(growing)
    residual = []
    for distribution, odds, logits, weight in zip(
        loss.p,
        loss.log_odds,
        moved.reshape(loss.p.shape),
        loss.weight,
        strict=True,
    ):
        p = exact(distribution) / sum(exact(distribution))
        masses = [
            (logit + (a.ln() if a else Decimal(float(o)))).exp()
            for a, o, logit in zip(p, odds, logits, strict=True)
        ]
        residual += [
            Decimal(float(weight)) * (mass / sum(masses) - a) / scale
            for mass, a in zip(masses, p, strict=True)
        ]
    return (np.array(residual) @ np.hstack([exact(loss.finite_logits), exact(off)])).astype(float)


def test_far_beyond_the_rounding_of_probabilities_the_gradient_keeps_its_digits(rng):
    drawn = ContextTable.random(3, 4, 2, 3, rng)
    loss = DecomposedLoss(drawn)
    separating = np.linalg.pinv(drawn.embeddings) @ drawn.support.toarray()
    # all margins are 60: off-support probabilities near 1e-26
    growing = 60 * loss.coordinates(separating.T)[1]
    finite = rng.standard_normal(len(loss.bases.finite))
    found = np.append(*loss.gradient(loss.point(finite, growing, -60.0)))
    expected = exact_gradient(loss, finite, growing, -60.0)
    assert np.allclose(found, expected, rtol=1e-12)
    assert np.abs(expected).min() > 1e-3


def test_the_excess_is_finite_where_it_underflows(rng):
    drawn = ContextTable.random(4, 5, 2, 5, rng)
    loss = DecomposedLoss(drawn)
    growing = loss.coordinates((np.linalg.pinv(drawn.embeddings) @ drawn.support.toarray()).T)[1]
    nothing = np.zeros(len(loss.bases.finite))
    far, farther = (
        loss.log_excess(loss.point(nothing, size * growing, -size)) for size in (5000.0, 6000.0)
    )
    assert far - farther == pytest.approx(1000, abs=1e-6)  # all margins grow by 1000


def test_far_from_the_finite_part_nothing_overflows():
    """Two words of one half each, with logits 2000 apart: q is 1 and e^−2000."""
    loss = DecomposedLoss(table([[1.0]], [[1, 1, 0]]))
    point = loss.point(*loss.coordinates(np.array([[1000.0], [-1000.0], [-5000.0]])), 0.0)
    assert np.allclose(point.log_ratio, [[math.log(2), math.log(2) - 2000, 0]], rtol=1e-12)
    assert math.exp(loss.log_excess(point)) == pytest.approx(1000 - math.log(2), rel=1e-12)


def test_the_largest_change_is_that_of_the_logits(rng):
    drawn = ContextTable.random(6, 5, 2, 7, rng)
    loss = DecomposedLoss(drawn)
    finite, growing = (
        rng.standard_normal(len(loss.bases.finite)),
        rng.standard_normal(len(loss.bases.growing)),
    )
    logits = drawn.embeddings @ (loss.weights(finite, growing) - loss.finite_part).T
    assert loss.largest_change(finite, growing) == pytest.approx(np.ptp(logits, axis=1).max())


def test_a_table_that_is_not_compatible_is_refused():
    same = ContextTable(
        np.ones((2, 1)), np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]), np.full(2, 0.5)
    )
    with pytest.raises(
        ValueError,
        match=(
            r"`table` must be compatible, for W\* to exist; `check_compatibility` says "
            r"NOT_COMPATIBLE"
        ),
    ):
        DecomposedLoss(same)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.linear.separability import ties
from ntpcompanion.linear.separability.ties import (
    centre,
    least_squares,
    project_onto_F,
    tie_operator,
    unit_rows,
)
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import degenerate_tables, table
from tests.oracles import ties as spanning


@given(degenerate_tables(), st.integers(0, 100))
def test_projection_onto_F_is_that_on_the_span_of_the_ties(given_table, seed):
    W = np.random.default_rng(seed).standard_normal((given_table.vocab_size, given_table.dim))
    rows, _ = unit_rows(given_table.embeddings)
    span = spanning(rows, given_table.support.toarray())
    expected = (np.linalg.pinv(span, rcond=1e-10) @ (span @ W.ravel())).reshape(W.shape)
    projection = project_onto_F(given_table, W)
    assert np.allclose(projection, expected, atol=1e-9)
    assert np.allclose(project_onto_F(given_table, projection), projection, atol=1e-9)
    assert abs(np.vdot(projection, W - projection)) < 1e-9
    assert np.abs(span @ (W - projection).ravel()).max() < 1e-9


def test_one_hot_contexts_leave_nothing_in_F(rng):
    one_hot = ContextTable.random(6, 5, 1, 4, rng)
    assert not project_onto_F(one_hot, rng.standard_normal((5, 4))).any()


def test_projection_of_a_table_that_is_ill_conditioned(rng):
    square = ContextTable.random(60, 8, 3, 60, rng)
    W = rng.standard_normal((8, 60))
    rest = W - project_onto_F(square, W)
    assert (
        np.abs(
            spanning(unit_rows(square.embeddings)[0], square.support.toarray()) @ rest.ravel()
        ).max()
        < 1e-9
    )


def test_the_operator_and_its_transpose_agree(rng):
    face = rng.random((7, 5)) < 0.5
    operator = tie_operator(rng.standard_normal((7, 3)), face)
    x, g = rng.standard_normal(15), rng.standard_normal(35)
    assert np.vdot(operator.matvec(x), g) == pytest.approx(
        np.vdot(x, operator.rmatvec(g)), rel=1e-12
    )


def test_centre_is_the_projection_onto_rows_without_sum(rng):
    values = rng.standard_normal((4, 5))
    face = np.array(
        [[1, 1, 1, 1, 1], [1, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 0]], dtype=bool
    )
    centred = centre(values, face)
    assert np.allclose(centred.sum(axis=1), 0, atol=1e-15)
    assert not centred[~face].any()
    assert np.allclose(centred[1, [0, 2]], values[1, [0, 2]] - values[1, [0, 2]].mean())
    assert np.allclose(centre(centred, face), centred)


def test_least_squares_splits_values_into_range_and_kernel(rng):
    rows, face, values = (
        rng.standard_normal((9, 2)),
        rng.random((9, 4)) < 0.8,
        rng.standard_normal((9, 4)),
    )
    solution, residual = least_squares(rows, face, values, 100)
    assert np.allclose(centre(rows @ solution, face) + residual, centre(values, face), atol=1e-12)
    assert np.abs(rows.T @ residual).max() < 1e-12


def test_what_is_at_rounding_already_is_left_alone(monkeypatch):
    monkeypatch.setattr(ties, "lsqr", None)  # must not be called: it would walk along noise
    rows, gamma = np.array([[1.0], [1.0]]), np.array([[0.5, -0.5], [-0.5, 0.5]])
    assert np.array_equal(least_squares(rows, np.ones((2, 2), bool), gamma, 10)[1], gamma)


def test_rows_of_any_length_become_unit_rows():
    rows, lengths = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0], [1e200, 0.0], [0.0, 1e-200]]))
    assert np.allclose(rows, [[0.6, 0.8], [0, 0], [1, 0], [0, 1]])
    assert np.allclose(lengths / [5, 1, 1e200, 1e-200], 1)


def test_errors_say_what_to_do(rng):
    hard = table(
        rng.standard_normal((20, 18)), ContextTable.random(20, 6, 3, 1, rng).support.toarray()
    )
    with pytest.raises(
        RuntimeError,
        match=r"left ties off by .* after 1 LSQR steps a round\. Raise `max_iterations`\.",
    ):
        project_onto_F(hard, rng.standard_normal((6, 18)), max_iterations=1)


@pytest.mark.parametrize(("iterations", "calls"), [(1, 1), (2000, 2)])
def test_least_squares_is_refined_unless_it_ran_out_of_steps(rng, monkeypatch, iterations, calls):
    counted, original = [], ties.lsqr
    monkeypatch.setattr(
        ties, "lsqr", lambda *args, **options: counted.append(1) or original(*args, **options)
    )
    stretched = rng.standard_normal((8, 6)) * np.logspace(0, -6, 6)
    least_squares(stretched, rng.random((8, 5)) < 0.6, rng.standard_normal((8, 5)), iterations)
    assert len(counted) == calls if iterations == 1 else len(counted) >= calls

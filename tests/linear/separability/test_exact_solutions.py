from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ntpcompanion.linear.separability.compatibility import CompatibilityVerdict, check_compatibility
from ntpcompanion.linear.separability.exact_solutions import solve_exactly
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.oracles import ties


@st.composite
def integer_tables(draw):
    """Small embeddings, supports of all kinds; exponents that some decoder produces, or any."""
    m, d, V = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    support = rng.random((m, V)) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    support[np.arange(m), rng.integers(V, size=m)] = True
    embeddings, planted = rng.integers(-2, 3, (m, d)), rng.integers(-2, 3, (V, d))
    free = rng.integers(-3, 4, (m, V))
    return embeddings, support, embeddings @ planted.T if draw(st.booleans()) else free


def equations(embeddings, support, exponents):
    """Every pair of every support: a matrix with one nonzero difference of rows, and the log-odds
    it must have; in floats, which hold these small integers exactly.
    """
    V = support.shape[1]
    rows, odds = [np.zeros((V, embeddings.shape[1]))], [0]
    for h, inside, a in zip(embeddings, support, exponents, strict=True):
        for z in np.flatnonzero(inside):
            for other in np.flatnonzero(inside):
                rows.append(np.outer(np.eye(V)[z] - np.eye(V)[other], h))
                odds.append(a[z] - a[other])
    return np.array(rows), np.array(odds)


def exact(matrices, shape):
    return np.array(matrices, dtype=object).reshape(-1, *shape)


@settings(max_examples=40)
@given(integer_tables())
def test_the_answer_solves_every_equation_and_its_directions_solve_them_with_zero(drawn):
    rows, odds = equations(*drawn)
    found, shape = solve_exactly(*drawn), rows.shape[1:]
    if found is None:
        flat = rows.reshape(len(rows), -1)
        nearest = np.linalg.lstsq(flat, odds, rcond=None)[0]
        assert np.abs(flat @ nearest - odds).max() > 1e-3  # integers of this size miss by more
        return
    finite, spanning, free = (
        exact(matrices, shape) for matrices in (found.finite_part, found.spanning, found.free)
    )
    integers = rows.astype(int).astype(object)
    assert (np.tensordot(integers, finite[0], 2) == odds).all()
    assert not np.tensordot(integers, free, ([1, 2], [1, 2])).any()
    assert not np.tensordot(free, finite[0], 2).any()
    assert not np.tensordot(spanning, free, ([1, 2], [1, 2])).any()
    assert found.solutions_in_F == 0


@settings(max_examples=40)
@given(integer_tables())
def test_spanning_and_free_directions_are_bases_of_the_right_size(drawn):
    embeddings, support, _ = drawn
    found = solve_exactly(embeddings, support, np.zeros(support.shape, dtype=int))
    span = ties(embeddings, support)
    rank, unknowns = np.linalg.matrix_rank(span), span.shape[1]
    assert (len(found.spanning), len(found.free)) == (rank, unknowns - rank)
    together = np.array(found.spanning + found.free, dtype=float).reshape(-1, unknowns)
    assert np.linalg.matrix_rank(together) == unknowns
    assert np.linalg.matrix_rank(np.vstack([span, together[:rank]])) == rank
    assert not np.any(found.finite_part)


@settings(max_examples=40)
@given(integer_tables())
def test_the_float_check_finds_the_same_decoder(drawn):
    embeddings, support, exponents = drawn
    distributions = np.where(support, 2.0**exponents, 0)
    distributions /= distributions.sum(axis=1, keepdims=True)
    if support.all():
        return  # no token outside any support: no table
    table = ContextTable(
        embeddings.astype(float), distributions, np.full(len(distributions), 1 / len(distributions))
    )
    answer, found = check_compatibility(table), solve_exactly(embeddings, support, exponents)
    assert answer.verdict is (
        CompatibilityVerdict.NOT_COMPATIBLE if found is None else CompatibilityVerdict.COMPATIBLE
    )
    if found is not None:
        expected = np.log(2) * np.array(found.finite_part, dtype=float)
        np.testing.assert_allclose(answer.finite_part, expected, atol=1e-8)


def test_the_solutions_are_those_decoders_that_the_set_contains():
    """All decoders with entries 0, ±1 of two tokens in the plane, against the equations."""
    embeddings, support = np.array([[1, 1], [1, 0]]), np.array([[True, True], [True, False]])
    found = solve_exactly(embeddings, support, np.array([[1, 0], [0, 0]]))
    decoders = [np.reshape(entries, (2, 2)) for entries in product((-1, 0, 1), repeat=4)]
    solves = [(W[0] - W[1]).sum() == 1 for W in decoders]
    assert [found.contains(W) for W in decoders] == solves
    assert 0 < sum(solves) < len(solves)
    assert found.contains(found.finite_part)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("embeddings", "support", "exponents", "message"),
    [
        (
            [[1]],
            [[True, False], [True, False]],
            [[0, 0], [0, 0]],
            r"`support` must .* shape \(1, V\)",
        ),
        ([[1]], [[True, False]], [[0]], r"`exponents` .* shape \(1, 2\) .*, got .*\(1, 1\)"),
        ([[1], [1]], [[True, True], [False, False]], [[0, 0], [0, 0]], "a token for every context"),
    ],
)
def test_errors_say_what_to_do(embeddings, support, exponents, message):
    with pytest.raises(ValueError, match=message):
        solve_exactly(np.array(embeddings), np.array(support), np.array(exponents))

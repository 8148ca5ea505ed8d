import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, csr_matrix
from scipy.stats import chisquare

from ntpcompanion.linear.tables import contexts
from ntpcompanion.linear.tables.contexts import ContextTable, draw_supports
from tests.oracles import cross_entropy, successors

# the second context can be followed by every token
GAP = np.array([[0.25, 0.75, 0.0], [0.2, 0.3, 0.5]])


@st.composite
def tables(draw):
    """All shapes: one context, one dimension, one-hot rows, full rows (never all full), repeated
    embeddings, unequal frequencies.
    """
    m, d, vocab = draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    sizes = [draw(st.integers(1, vocab - 1)), *(draw(st.integers(1, vocab)) for _ in range(m - 1))]
    distributions = np.zeros((m, vocab))
    for distribution, size in zip(distributions, sizes, strict=True):
        distribution[rng.permutation(vocab)[:size]] = rng.dirichlet(np.ones(size))
    embeddings = rng.integers(-1, 2, (m, d)) * draw(st.sampled_from([1.0, 1e-3, 30.0]))
    return ContextTable(
        embeddings,
        draw(st.sampled_from([np.asarray, csr_array]))(distributions),
        rng.dirichlet(np.ones(m) * 5),
    )


def dense(table):
    return table.distributions.toarray()


@given(tables(), st.integers(0, 100))
def test_cross_entropy_equals_the_sum_over_entries(table, seed):
    W = np.random.default_rng(seed).standard_normal((table.vocab_size, table.dim)) * 3
    expected = cross_entropy(
        table.embeddings.tolist(), dense(table).tolist(), table.weight.tolist(), W.tolist()
    )
    assert table.cross_entropy(W) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert table.excess(W) == pytest.approx(expected - table.entropy, abs=1e-11 * (1 + expected))
    assert table.excess(W) >= 0


@given(tables(), st.integers(0, 100))
def test_cross_entropy_and_gradient_equal_those_of_torch(table, seed):
    W = torch.tensor(
        np.random.default_rng(seed).standard_normal((table.vocab_size, table.dim)),
        requires_grad=True,
    )
    logits = torch.tensor(table.embeddings.copy()) @ W.T
    losses = torch.nn.functional.cross_entropy(logits, torch.tensor(dense(table)), reduction="none")
    loss = losses @ torch.tensor(table.weight.copy())
    loss.backward()
    assert table.cross_entropy(W.detach().numpy()) == pytest.approx(loss.item(), rel=1e-12)
    assert np.allclose(table.gradient(W.detach().numpy()), W.grad.numpy(), rtol=1e-11, atol=1e-12)


def test_gradient_equals_finite_differences(rng):
    table = ContextTable.random(7, 5, 2, 3, rng)
    W, step = rng.standard_normal((5, 3)), 1e-6
    for entry in np.ndindex(W.shape):
        shift = np.zeros_like(W)
        shift[entry] = step
        slope = (table.cross_entropy(W + shift) - table.cross_entropy(W - shift)) / (2 * step)
        assert table.gradient(W)[entry] == pytest.approx(slope, abs=1e-8)


def test_blocks_of_contexts_add_up_to_the_whole(rng, monkeypatch):
    table = ContextTable.random(23, 6, 3, 4, rng)
    W = rng.standard_normal((6, 4))
    whole = table.cross_entropy(W), table.gradient(W)
    monkeypatch.setattr(contexts, "BLOCK_ENTRIES", 30)  # five contexts at a time, three left over
    assert table.cross_entropy(W) == pytest.approx(whole[0], rel=1e-14)
    assert np.allclose(table.gradient(W), whole[1], atol=1e-15)


@pytest.mark.parametrize("scale", [1e3, 1e8, 1e200])
def test_large_logits_stay_finite_and_exact(scale):
    table = ContextTable(np.array([[1.0]]), np.array([[1.0, 0.0, 0.0]]), np.array([1.0]))
    W = np.array([[0.0], [1.0], [-1.0]]) * scale
    assert table.cross_entropy(W) == pytest.approx(scale)
    assert table.gradient(W).ravel().tolist() == [-1.0, 1.0, 0.0]
    assert table.cross_entropy(-W[:, ::-1] * [[1], [1], [1]] - scale) == pytest.approx(scale)


def test_a_tiny_excess_keeps_its_digits():
    table = ContextTable(np.array([[1.0]]), np.array([[0.5, 0.5, 0.0]]), np.array([1.0]))
    for margin in (10.0, 50.0, 300.0):
        assert table.excess(np.array([[0.0], [0.0], [-margin]])) == pytest.approx(
            np.exp(-margin) / 2, rel=1e-4
        )
    for tilt in (1e-2, 1e-4, 1e-7):  # KL of two Bernoulli distributions: tilt² / 8 to leading order
        assert table.excess(np.array([[tilt], [0.0], [-900.0]])) == pytest.approx(
            tilt**2 / 8, rel=1e-4
        )


def test_a_support_of_tiny_probability_does_not_overflow():
    table = ContextTable(np.array([[1.0]]), np.array([[1e-320, 1.0, 0.0]]), np.array([1.0]))
    assert table.excess(np.array([[0.0], [0.0], [-1e4]])) == pytest.approx(np.log(2))


def test_dense_and_sparse_distributions_give_equal_tables():
    W = np.arange(6.0).reshape(3, 2)
    forms = [GAP, csr_array(GAP), csr_matrix(GAP), coo_array(GAP)]
    tables = [
        ContextTable(np.eye(2), distributions, np.array([0.5, 0.5])) for distributions in forms
    ]
    assert len({(t.entropy, t.cross_entropy(W), t.gradient(W).tobytes()) for t in tables}) == 1
    assert all(np.array_equal(t.support.toarray(), GAP > 0) for t in tables)
    assert isinstance(tables[0].next_token, np.ndarray)
    assert all(isinstance(t.next_token, csr_array) for t in tables[1:])


def test_a_stored_zero_is_outside_the_support():
    distributions = csr_array(
        (np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2)
    )
    table = ContextTable(np.ones((1, 1)), distributions, np.ones(1))
    assert table.support.toarray().tolist() == [[True, False]]
    assert distributions.nnz == 2  # what the caller passed is left alone


def test_sizes_and_entropy():
    table = ContextTable(np.array([[1.0, 2.0], [3.0, 4.0]]), GAP, np.array([0.25, 0.75]))
    assert (table.num_contexts, table.dim, table.vocab_size) == (2, 2, 3)
    assert table.support_sizes.tolist() == [2, 3]
    p = GAP[GAP > 0]
    assert table.entropy == pytest.approx(
        -(np.array([0.25] * 2 + [0.75] * 3) * p * np.log(p)).sum()
    )


@given(st.integers(1, 6), st.integers(2, 6), st.integers(1, 3), st.data())
def test_random_tables_have_the_sizes_asked_for(m, vocab, dim, data):
    size = data.draw(st.integers(1, vocab - 1))
    table = ContextTable.random(
        m, vocab, size, dim, np.random.default_rng(data.draw(st.integers(0, 99)))
    )
    assert (table.num_contexts, table.vocab_size, table.dim) == (m, vocab, dim)
    assert table.support_sizes.tolist() == [size] * m
    assert np.allclose(table.weight, 1 / m)


def test_random_distributions_are_dirichlet_and_supports_uniform(rng):
    table = ContextTable.random(4000, 5, 3, 1, rng)
    inside = table.next_token[table.next_token > 0]
    assert inside.mean() == pytest.approx(1 / 3)
    # of a coordinate of the uniform distribution on a triangle
    assert inside.var() == pytest.approx(1 / 18, rel=0.05)
    share = table.support.toarray().mean(axis=0)
    assert np.abs(share - 0.6).max() < 5 * np.sqrt(0.24 / 4000)
    assert abs(table.embeddings.mean()) < 5 / np.sqrt(4000)


@given(st.lists(st.integers(0, 2), min_size=8, max_size=60), st.integers(1, 3))
def test_from_tokens_equals_a_dictionary(tokens, length):
    table = ContextTable.from_tokens(np.array(tokens), 4, length, 2, np.random.default_rng(0))
    windows = len(tokens) - length
    expected = Counter()
    for counter in successors(tokens, length, length).values():
        total = counter.total()
        expected[
            (round(total / windows, 12), tuple(round(counter[z] / total, 12) for z in range(4)))
        ] += 1
    rows = zip(table.weight.tolist(), dense(table).tolist(), strict=True)
    assert (
        Counter(
            (round(w, 12), tuple(round(p, 12) for p in distribution)) for w, distribution in rows
        )
        == expected
    )
    assert isinstance(table.next_token, csr_array)
    assert table.embeddings.shape == (sum(expected.values()), 2)


OK = {"embeddings": np.eye(2), "next_token": GAP, "weight": np.array([0.5, 0.5])}
REFUSED = [
    (
        "next_token",
        GAP[:1],
        r"`next_token` must be a matrix of shape \(2, any\), got shape \(1, 3\)",
    ),
    (
        "next_token",
        csr_array(GAP[:1]),
        r"`next_token` must be a matrix of shape \(2, any\), got shape \(1, 3\)",
    ),
    ("next_token", csr_array(np.where(GAP == 0.3, np.inf, GAP)), r"`next_token` holds inf"),
    (
        "next_token",
        GAP + np.array([[0, 0.5, -0.5], [0, 0, 0]]),
        r"`next_token` holds the negative entry -0.5",
    ),
    (
        "next_token",
        GAP * [[1], [0.9]],
        r"`next_token` row 1 sums to 0.9, not to 1 within 1e-08. Divide each row by its sum",
    ),
    ("next_token", csr_array(GAP * [[0], [1]]), r"`next_token` row 0 sums to 0, not to 1"),
    (
        "next_token",
        GAP * (1 + 1e-7),
        r"`next_token` row . sums to 1.0000001, not to 1 within 1e-08",
    ),
    (
        "next_token",
        np.full((2, 3), 1 / 3),
        r"`next_token`: every context can be followed by every token",
    ),
    (
        "next_token",
        csr_array(np.full((2, 3), 1 / 3)),
        r"At least one context needs a token outside its support",
    ),
    (
        "weight",
        np.array([0.5, 0.3, 0.2]),
        r"`weight` must be a vector of length 2, .* got shape \(3,\)",
    ),
    (
        "weight",
        np.array([1.0, 0.0]),
        r"`weight` must be positive, got 0 for context 1. Leave out contexts that never occur",
    ),
    ("weight", np.array([1.5, -0.5]), r"`weight` must be positive, got -0.5 for context 1"),
    (
        "weight",
        np.array([0.5, 0.4]),
        r"`weight` sums to 0.9, not to 1 within 1e-08. Divide it by its sum",
    ),
]


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(("name", "value", "words"), REFUSED)
def test_what_is_no_table_is_refused(name, value, words):
    with pytest.raises(ValueError, match=words):
        ContextTable(**{**OK, name: value})


def test_a_support_of_all_tokens_is_refused(rng):
    words = r"`support_size` must lie in 1 … 4 \(`vocab_size` − 1\), got 5"
    with pytest.raises(ValueError, match=words):
        ContextTable.random(3, 5, 5, 2, rng)


def test_sizes_of_no_text_table_are_refused(rng):
    with pytest.raises(ValueError, match="`context_length` must be at least 1, got 0"):
        ContextTable.from_tokens(np.arange(3), 3, context_length=0, dim=1, rng=rng)


def test_arrays_that_no_machine_holds_are_refused_before_they_are_made(rng):
    words = r"`num_contexts` is too large: 3 dense arrays of shape \(10000000, 10000000\) take "
    with pytest.raises(ValueError, match=words):
        ContextTable.random(10**7, 10**7, 2, 3, rng)


def test_importing_the_table_loads_no_heavy_package():
    code = (
        "import sys, ntpcompanion.linear.tables.contexts; "
        "print(sorted({'torch', 'matplotlib', 'pandas', 'cvxpy'} & set(sys.modules)))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


@pytest.mark.parametrize(
    ("entries", "sizes"), [(8, [2, 2, 1]), (7, [1] * 5), (3, [1] * 5), (100, [5])]
)
def test_blocks_hold_as_many_pairs_as_they_may(rng, monkeypatch, entries, sizes):
    monkeypatch.setattr(contexts, "BLOCK_ENTRIES", entries)
    table = ContextTable.random(5, 4, 2, 3, rng)
    blocks = list(table._logits(np.zeros((4, 3))))
    assert [rows.stop - rows.start for rows, _ in blocks] == sizes
    assert [logits.shape for _, logits in blocks] == [(size, 4) for size in sizes]


def test_supported_logits_far_apart_do_not_overflow():
    table = ContextTable(np.array([[1.0]]), np.array([[0.5, 0.5, 0.0]]), np.array([1.0]))
    assert table.excess(np.array([[1000.0], [0.0], [-1000.0]])) == pytest.approx(500 - np.log(2))


def test_supports_of_random_tables_are_those_of_the_smallest_draws():
    table = ContextTable.random(9, 5000, 2000, 2, np.random.default_rng(5))
    smallest = np.argsort(np.random.default_rng(5).random((9, 5000)), axis=1)[:, :2000]
    assert [set(np.flatnonzero(row)) for row in table.support.toarray()] == [
        set(row) for row in smallest
    ]


def test_the_worst_row_is_named_whichever_side_of_one_it_is_on():
    distributions = np.array([[1.0, 0.0], [0.7, 0.8], [0.5, 0.5]])
    with pytest.raises(ValueError, match=r"`next_token` row 1 sums to 1.5"):
        ContextTable(np.eye(3), distributions, np.full(3, 1 / 3))


def test_repeated_entries_of_a_sparse_table_are_one():
    repeated = csr_array(
        (np.array([0.25, 0.25, 0.5, 1.0]), np.array([0, 0, 1, 2]), np.array([0, 3, 4])),
        shape=(2, 3),
    )
    table = ContextTable(np.eye(2), repeated, np.array([0.5, 0.5]))
    assert table.support_sizes.tolist() == [2, 1]
    assert table.entropy == pytest.approx(0.5 * np.log(2))


def test_arrays_of_a_table_are_read_only(rng):
    table = ContextTable.random(3, 4, 2, 2, rng)
    for array in (table.embeddings, table.next_token, table.weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("size", [1, 2, 4])
def test_supports_are_sets_of_one_size_each_as_likely(rng, size):
    drawn = np.sort(draw_supports(4000, 5, size, rng), axis=1)
    assert (np.diff(drawn, axis=1) > 0).all()
    sets, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(sets) == {1: 5, 2: 10, 4: 5}[size]
    assert chisquare(counts).pvalue > 1e-6

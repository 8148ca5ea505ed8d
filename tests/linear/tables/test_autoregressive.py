import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.linear.tables.autoregressive import flatten_sequences, recurrent_states


def draw(rng, n=30, positions=4, vocab=3, dim=5):
    sequences = rng.integers(0, vocab, (n, positions + 1))
    return (
        sequences,
        recurrent_states(sequences[:, :-1], vocab, dim, rng),
        rng.standard_normal((vocab + 1, dim)),
    )


@given(st.integers(1, 12), st.integers(1, 4), st.integers(2, 4), st.integers(0, 1000))
def test_loss_and_gradient_equal_those_of_the_sequences(n, positions, vocab, seed):
    sequences, states, W = draw(np.random.default_rng(seed), n, positions, vocab)
    decoder = torch.tensor(W, requires_grad=True)
    logits = torch.from_numpy(states).flatten(0, 1) @ decoder.T
    direct = torch.nn.functional.cross_entropy(logits, torch.from_numpy(sequences[:, 1:].flatten()))
    direct.backward()
    # one token never occurs: some context lacks it
    table = flatten_sequences(sequences, states, vocab + 1)
    assert table.cross_entropy(W) == pytest.approx(direct.item(), abs=1e-12)
    assert np.abs(table.gradient(W) - decoder.grad.numpy()).max() < 1e-12


def test_one_context_for_each_length_and_prefix(rng):
    sequences, states, _ = draw(rng)
    table = flatten_sequences(sequences, states, 3)
    prefixes = {tuple(row[:t]) for row in sequences.tolist() for t in range(1, 5)}
    assert table.num_contexts == len(prefixes)
    assert table.weight[:3].sum() == pytest.approx(1 / 4)


def test_its_entropy_follows_the_chain_rule(rng):
    """That of a whole sequence less that of its first token, over the number of predictions."""
    sequences, states, _ = draw(rng, n=60)

    def entropy(items):
        share = np.unique(items, axis=0, return_counts=True)[1] / len(items)
        return -(share * np.log(share)).sum()

    rest = entropy(sequences) - entropy(sequences[:, 0])
    assert flatten_sequences(sequences, states, 3).entropy == pytest.approx(rest / 4, abs=1e-12)


def test_states_depend_on_the_past_only(rng):
    tokens = rng.integers(0, 3, (2, 6))
    changed = tokens.copy()
    changed[:, 4:] = (changed[:, 4:] + 1) % 3
    one, other = (recurrent_states(t, 3, 4, np.random.default_rng(1)) for t in (tokens, changed))
    assert np.array_equal(one[:, :4], other[:, :4])
    assert not np.allclose(one[:, 4:], other[:, 4:])


def test_a_model_that_looks_ahead_is_refused(rng):
    sequences, states, _ = draw(rng)
    with pytest.raises(ValueError, match="`states` differ between equal prefixes of length 1"):
        flatten_sequences(sequences, states[:, ::-1].copy(), 3)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (
            (30, 4),
            r"`states` must .* shape \(30, 3, d\) to agree with `sequences`, got .* \(30, 4, 5\)",
        ),
        ((30,), r"`sequences` must be a matrix of integers"),
        ((30, 1), r"`sequences` must hold at least 2 tokens a row, got .* shape \(30, 1\)"),
    ],
)
def test_what_is_no_set_of_sequences_is_refused(shape, words):
    with pytest.raises(ValueError, match=words):
        flatten_sequences(np.zeros(shape, dtype=int), np.zeros((30, 4, 5)), 2)


def test_the_recurrence_is_that_of_the_formula(rng):
    tokens = rng.integers(3, size=(4, 5))
    states = recurrent_states(tokens, 3, 6, np.random.default_rng(1))
    again = np.random.default_rng(1)
    A, b = again.standard_normal((6, 6)) / np.sqrt(6), again.standard_normal((3, 6))
    for sequence, path in zip(tokens, states, strict=True):
        h = np.zeros(6)
        for token, state in zip(sequence, path, strict=True):
            h = np.tanh(A @ h + b[token])
            np.testing.assert_allclose(state, h, atol=1e-14)


@pytest.mark.parametrize("token", [-1, 3])
def test_one_token_out_of_range_is_enough(rng, token):
    sequences, states = np.array([[0, 1, 2], [2, 1, token]]), rng.standard_normal((2, 2, 4))
    with pytest.raises(ValueError, match=r"`sequences` must lie in 0 … 2, got .* from"):
        flatten_sequences(sequences, states, 3)


@pytest.mark.parametrize(
    ("size", "allowed", "rejected"), [(0.1, 0.9e-9, 1.5e-9), (1e3, 0.9e-6, 1.5e-6)]
)
def test_equal_prefixes_may_differ_by_rounding_only(size, allowed, rejected):
    sequences = np.array([[0, 1], [0, 2]])
    states = np.array([[[size, 0.0]], [[size, 0.0]]])
    assert (
        flatten_sequences(sequences, states + np.array([0, allowed])[:, None, None], 3).num_contexts
        == 1
    )
    with pytest.raises(ValueError, match=r"`states` differ between equal prefixes of length 1"):
        flatten_sequences(sequences, states + np.array([0, rejected])[:, None, None], 3)

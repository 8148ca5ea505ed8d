import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.linear.dynamics.gradients import FullGradient, SampledGradient
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import degenerate_tables


@given(degenerate_tables(), st.integers(0, 1000), st.sampled_from([0.0, 1.0, 30.0]))
def test_the_full_gradient_is_that_of_the_table(table, seed, size):
    W = size * np.random.default_rng(seed).standard_normal((table.vocab_size, table.dim))
    gradient, expected = FullGradient(table), table.gradient(W)
    for _ in range(2):  # buffers hold nothing over
        assert np.allclose(
            gradient(W),
            expected,
            rtol=0,
            atol=1e-13 * (1 + np.abs(table.embeddings).max()) * (1 + size),
        )


def test_gradients_of_one_hot_contexts_keep_their_digits(rng):
    table = ContextTable.random(4, 3, 1, 5, rng)
    # margins of 60: off-support probabilities e^−60
    W = 60 * (np.linalg.pinv(table.embeddings) @ table.support.toarray()).T
    # two tokens off each support
    residual = np.exp(-60.0) * np.where(table.support.toarray(), -2.0, 1.0)
    assert np.allclose(
        FullGradient(table)(W), residual.T @ table.embeddings / 4, rtol=1e-10, atol=0
    )


def test_where_the_support_has_no_mass_left_the_gradient_is_that_of_the_limit():
    table = ContextTable(np.eye(2), np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]), np.full(2, 0.5))
    W = np.array([[-3000.0, 0.0], [-2000.0, 4000.0], [0.0, 0.0]])
    assert np.allclose(
        FullGradient(table)(W), [[-0.25, 0.0], [-0.25, 0.5], [0.5, -0.5]], atol=1e-12
    )


def test_every_sample_is_the_gradient_of_its_own_loss(rng):
    table = ContextTable.random(3, 4, 2, 5, rng)
    W = rng.standard_normal((4, 5))
    one_token = [
        ContextTable(table.embeddings[j : j + 1], np.eye(4)[z : z + 1], np.ones(1)).gradient(W)
        for j, z in zip(*np.nonzero(table.next_token), strict=True)
    ]
    sampled = SampledGradient(table, 1, rng)
    seen = {
        int(np.argmin([np.abs(sampled(W) - one).max() for one in one_token])) for _ in range(300)
    }
    assert min(np.abs(sampled(W) - one).max() for one in one_token) < 1e-12
    assert seen == set(range(6))


@pytest.mark.parametrize("size", [1, 7])
def test_a_sampled_gradient_has_the_shape_of_W_and_sums_to_zero_over_tokens(rng, size):
    table = ContextTable.random(3, 4, 2, 5, rng)
    gradient = SampledGradient(table, size, rng)(rng.standard_normal((4, 5)))
    assert gradient.shape == (4, 5)
    assert np.abs(gradient.sum(axis=0)).max() < 1e-14

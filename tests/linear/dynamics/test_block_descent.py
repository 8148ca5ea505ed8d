"""Gradient descent in blocks, against the dense one."""

import numpy as np
import pytest

from ntpcompanion.linear import descend, step_bound
from ntpcompanion.linear.dynamics.block_descent import descend_large
from ntpcompanion.linear.tables.large_tables import planted_table
from ntpcompanion.randomness import stream


@pytest.fixture
def table():
    return planted_table(40, 12, 3, 16, stream(0, "descent"))


def test_steps_are_those_of_dense_descent_to_single_precision(table):
    rate, start = step_bound(table), stream(0, "start").standard_normal((12, 16))
    dense = descend(
        table, optimizer="gd", learning_rate=rate, steps=10, keep=range(11),
        rng=stream(0, "unused"), start=start,
    )  # fmt: skip
    ours = list(descend_large(table, learning_rate=rate, steps=10, start=start))
    assert [at.step for at in ours] == list(range(11))
    for one, other in zip(ours, dense, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)
        assert one.cross_entropy == pytest.approx(table.cross_entropy(other.weights), rel=1e-6)
        gradient = table.gradient(other.weights)
        assert one.square == pytest.approx(np.vdot(gradient, gradient), rel=1e-4)


def test_blocks_change_nothing(table, monkeypatch):
    whole, blocks = [], []
    for size, losses in ((2**22, whole), (3 * 12, blocks)):
        monkeypatch.setattr("ntpcompanion.linear.dynamics.block_descent.BLOCK_ENTRIES", size)
        path = descend_large(table, learning_rate=0.5, steps=3)
        losses.extend(at.cross_entropy for at in path)
    assert blocks == pytest.approx(whole, rel=1e-6)

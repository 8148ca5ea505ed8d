"""Experiments on whether the loss has a minimum: verdicts for tables, and losses against them."""

import numpy as np
import pytest

from ntpcompanion.experiments.decoders import both_verdicts
from ntpcompanion.linear import ContextTable
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run
from tests.oracles import largest_margin

TEXT = {"num_words": 60, "vocab_size": 8, "context_length": 1, "text_dims": 3, "text_draws": 2}
SIZE = {"num_contexts": 6, "random_vocab": 4, "support_size": 2, "random_draws": 3}
RIGHT = TEXT | SIZE | {"small_tables": 4, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(both_verdicts, RIGHT)


def test_verdicts_are_those_of_a_margin(found):
    for n, (dim, separable) in enumerate(
        zip(found.random.dim, found.random.separable, strict=True)
    ):
        rng = stream(0, f"random table {dim} {n % 3}")
        table = ContextTable.random(6, 4, 2, dim, rng)
        assert (largest_margin(table.embeddings, table.next_token > 0) > 1e-9) == separable
    assert n > 20
    assert len(set(found.random.separable)) == 2


def test_with_a_dimension_for_each_context_nothing_fails(found):
    assert found.both_fail == 0
    assert found.text.shares.iloc[-1][["compatible", "separable"]].tolist() == [1, 1]
    assert found.enough_over_contexts == found.enough / found.text.num_contexts <= 1


def test_the_loss_is_zero_in_excess_only_where_both_hold(found):
    assert len(found.minima) == 6
    for one in found.minima:
        assert one.reached < 1e-6 if one.holds else one.reached >= one.bound > 0
    assert found.farthest < 1e-6 < found.nearest


def test_a_path_of_penalties_comes_down_to_the_minimum(found):
    norms, excess = both_verdicts.penalized_path(both_verdicts.three_contexts((1.0, 1.0)))
    assert np.all(np.diff(norms) > 0)
    assert excess[-1] == pytest.approx(found.minima[0].reached, rel=1e-3)


def test_the_text_comes_down_to_its_floor(found):
    assert found.lengths[-1] == 40
    assert np.all(np.diff(found.excess) < 0)
    assert np.all(np.array(found.excess) <= np.array(found.bounds) + 1e-12)


def test_few_dimensions_are_the_fewest(found):
    lowest = np.array(found.random.separable)[np.array(found.random.dim) == min(found.random.dim)]
    assert found.separable_in_few.mean == pytest.approx(lowest.mean())

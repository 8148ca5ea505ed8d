"""Experiments on whether the loss has a minimum: verdicts for tables, and losses against them."""

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


def test_the_loss_is_zero_in_excess_only_where_both_hold(found):
    assert len(found.minima) == 6
    for one in found.minima:
        assert one.reached < 1e-6 if one.holds else one.reached >= one.bound > 0
    assert found.farthest < 1e-6 < found.nearest

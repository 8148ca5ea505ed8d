"""A scan finds every small margin and bounds the others; ties are removed to rounding."""

import numpy as np
import pytest

from ntpcompanion.linear.separability.ties import unit_rows
from ntpcompanion.linear.svm.block_margins import remove_ties, scan_pairs, unit_spread
from ntpcompanion.linear.svm.pairs import Pairs
from ntpcompanion.linear.tables.large_tables import planted_table
from ntpcompanion.randomness import stream


@pytest.fixture
def case():
    rng = stream(1, "scan")
    table = planted_table(40, 11, 3, 12, rng)
    rows, lengths = unit_rows(table.embeddings)
    return table, rows, 1 / lengths, rng.standard_normal((11, 12))


def margins_of(table, rows, threshold, W):
    logits, support = rows @ W.T, table.support.toarray()
    level = np.where(support, logits, np.inf).min(axis=1)
    return np.where(support, np.inf, (level[:, None] - logits) / threshold[:, None])


@pytest.mark.parametrize("most", [1, 3, 11])
@pytest.mark.parametrize("bound", [-1.0, 0.5, np.inf])
def test_what_is_not_found_is_above_the_bound_on_the_rest(case, bound, most):
    table, rows, threshold, W = case
    found = scan_pairs(table.support, rows, threshold, W, bound, most)
    margins = margins_of(table, rows, threshold, W)
    off = np.zeros(margins.shape, dtype=bool)
    off[found.context, found.token] = True
    assert not (off & table.support.toarray()).any()
    assert off.sum(axis=1).max() <= most
    rest = margins[~off].min()
    assert rest >= found.rest
    if most == 11 and np.isfinite(bound):
        outside = ~table.support.toarray() & (np.abs(margins - bound) > 1e-4)
        assert (off == (margins < bound))[outside].all()


def test_of_equal_margins_as_many_are_found_as_may_be(case):
    table, rows, threshold, W = case
    found = scan_pairs(table.support, rows, threshold, 0 * W, np.inf, 3)
    assert (np.bincount(found.context, minlength=40) == 3).all()
    assert -1e-6 < found.rest <= 0


def test_unit_spread_is_uniform_on_the_supports(case):
    table = case[0]
    spread = unit_spread(table.support).toarray()
    np.testing.assert_allclose(spread.sum(axis=1), 1)
    assert ((spread > 0) == table.support.toarray()).all()


def part_in_F(table, rows, W):
    """F is spanned by the differences of two in-support logits, as functions of W."""
    ties = []
    for row, inside in zip(rows, table.support.toarray(), strict=True):
        first, *others = np.flatnonzero(inside)
        ties += [np.outer(np.eye(11)[first] - np.eye(11)[z], row).ravel() for z in others]
    F = np.array(ties).T
    return (F @ np.linalg.lstsq(F, W.ravel(), rcond=None)[0]).reshape(W.shape)


def test_removing_ties_is_the_projection_orthogonal_to_F(case):
    table, W = planted_table(10, 11, 3, 12, stream(3, "few")), case[3]
    rows = unit_rows(table.embeddings)[0]
    without, steps = remove_ties(table.support, rows, W, 0.0)
    np.testing.assert_allclose(without, W - part_in_F(table, rows, W), atol=1e-11)
    assert steps > 0


def test_rounding_that_leaves_rows_uneven_is_not_blown_up(monkeypatch):
    """By chance of a processor, rows of centred logits sum to some ten units in the last place of
    the logits: far more than the ties that are left in the last rounds.
    """
    exact = Pairs.centred
    monkeypatch.setattr(
        Pairs, "centred", lambda *given: exact(*given) + 1e-14 * np.abs(given[1]).max() * given[2]
    )
    table = planted_table(10, 11, 3, 12, stream(3, "few"))
    rows = unit_rows(table.embeddings)[0]
    for draw in range(6):
        W = stream(draw, "start").standard_normal((11, 12))
        without, _ = remove_ties(table.support, rows, W, 0.0)
        np.testing.assert_allclose(without, W - part_in_F(table, rows, W), atol=1e-11)


def test_one_hot_contexts_have_no_ties():
    table = planted_table(10, 6, 1, 8, stream(2, "one-hot"))
    W = np.ones((6, 8))
    without, steps = remove_ties(table.support, table.embeddings, W, 0.0)
    assert without is W
    assert steps == 0

"""Sums, products and projections on chosen pairs, against dense arrays."""

import numpy as np
import pytest
import torch

from ntpcompanion.linear.svm.dual_problem import DualProblem, project_
from ntpcompanion.linear.svm.pairs import Pairs
from ntpcompanion.linear.tables.large_tables import planted_table
from ntpcompanion.randomness import stream


@pytest.fixture
def case():
    rng = stream(0, "pairs")
    table = planted_table(15, 9, 3, 8, rng)
    free = np.argwhere(~table.support.toarray())
    chosen = free[rng.random(len(free)) < 0.5]
    pairs = Pairs(table.support, chosen[::-1, 0], chosen[::-1, 1])
    return table, pairs, rng.standard_normal(len(pairs)), rng


def test_products_are_those_of_the_dense_matrix(case):
    table, pairs, values, _ = case
    dense, E = pairs.matrix(values).toarray(), table.embeddings.copy()
    at = pairs.row, pairs.token
    np.testing.assert_allclose(pairs.decoder(values, E), dense.T @ E, atol=1e-12)
    np.testing.assert_allclose(pairs.product(values, E), (E @ E.T @ dense)[at], atol=1e-11)
    np.testing.assert_allclose(pairs.sums(values), dense.sum(axis=1), atol=1e-12)
    single = pairs.product(values, E.astype(np.float32))
    np.testing.assert_allclose(single, (E @ E.T @ dense)[at], atol=1e-4)


def test_inside_marks_the_supports(case):
    table, pairs, *_ = case
    mask = np.zeros(pairs.shape, dtype=bool)
    mask[pairs.row[pairs.inside], pairs.token[pairs.inside]] = True
    assert (mask == table.support.toarray()).all()


def test_projection_is_the_dense_one_where_all_pairs_are_chosen(case):
    table, _, _, rng = case
    support = table.support.toarray()
    pairs = Pairs(table.support, *np.nonzero(~support))
    values = rng.standard_normal(support.shape)
    ones, out = torch.ones(len(support), dtype=torch.float64), torch.empty(support.shape)
    problem = DualProblem(torch.eye(len(support), dtype=torch.float64), torch.tensor(support), ones)
    out = out.to(torch.float64)
    project_(problem, torch.tensor(values), 0 * ones, out=out)
    gamma, _ = pairs.project(values.ravel(), np.zeros(len(support)))
    np.testing.assert_allclose(gamma, out.numpy().ravel(), atol=1e-12)
    assert np.abs(pairs.sums(gamma)).max() < 1e-12
    assert gamma[pairs.off].max() <= 0


def test_values_move_to_another_set_of_pairs(case):
    table, pairs, values, _ = case
    fewer = Pairs(table.support, pairs.row[pairs.off[::2]], pairs.token[pairs.off[::2]])
    moved = fewer.matrix(fewer.moved(pairs, values)).toarray()
    dense = pairs.matrix(values).toarray()
    assert (moved[fewer.row, fewer.token] == dense[fewer.row, fewer.token]).all()
    back = pairs.moved(fewer, fewer.moved(pairs, values))
    assert set(back) <= {0.0, *values}


def test_margins_and_ties_are_counted_one_by_one(case):
    table, pairs, _, rng = case
    W, c = rng.standard_normal((9, 8)), rng.uniform(0.5, 1, 15)
    logits = table.embeddings @ W.T
    inside = [logits[j, row] for j, row in enumerate(table.support.toarray())]
    margins, ties = pairs.margins(W, table.embeddings.copy(), c)
    expected = [
        (inside[j].min() - logits[j, v]) / c[j]
        for j, v in zip(pairs.row[pairs.off], pairs.token[pairs.off], strict=True)
    ]
    np.testing.assert_allclose(margins, expected, atol=1e-12)
    assert ties == pytest.approx(max(np.ptp(x) / c[j] for j, x in enumerate(inside)))

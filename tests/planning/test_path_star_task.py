import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from ntpcompanion.planning import PathStar, draw_graphs

# d, l, tokens of question and answer in the paper's format
TOPOLOGIES = [
    (2, 4, 21, 4),
    (2, 5, 27, 5),
    (5, 5, 63, 5),
    (10, 5, 123, 5),
    (2, 20, 117, 20),
    (20, 5, 243, 5),
]


def violations(prefix, answer, arms, length, labels):
    """How many questions and answers of the paper's format break a rule, read token by token."""
    edges = arms * (length - 1)
    listed = np.pad(prefix[:, :-4], ((0, 0), (0, 1)), constant_values=labels)
    listed = listed.reshape(len(prefix), edges, 3)
    parent, child, bar = np.moveaxis(listed, 2, 0)
    bad = (bar != labels).any(1) | (prefix[:, -1] != labels + 1) | (prefix[:, -4] != labels + 2)
    root, goal = prefix[:, -3], prefix[:, -2]
    follows = np.zeros((len(prefix), labels, labels), dtype=int)  # [i, a, b]: edges from a to b
    np.add.at(follows, (np.arange(len(prefix))[:, None], parent, child), 1)
    out, into, rows = follows.sum(2), follows.sum(1), np.arange(len(prefix))
    used = (out + into) > 0
    bad |= (used.sum(1) != edges + 1) | (follows.max((1, 2)) != 1) | (into.max(1) != 1)
    bad |= (out[rows, root] != arms) | (into[rows, root] != 0) | (out[rows, goal] != 0)
    inner = out.copy()
    inner[rows, root] = 0
    bad |= (inner.max(1) > 1) | ((used & (out == 0)).sum(1) != arms)
    bad |= (answer[:, 0] != root) | (answer[:, -1] != goal) | (answer.shape[1] != length)
    for one, next_one in itertools.pairwise(answer.T):
        bad |= follows[rows, one, next_one] != 1
    return int(bad.sum())


@pytest.mark.parametrize(("arms", "length", "prefix", "answer"), TOPOLOGIES)
def test_graphs_of_six_topologies_break_no_rule(arms, length, prefix, answer, rng):
    task = PathStar(arms, length, 100, separators=True)
    graphs = draw_graphs(task, 10_000, rng)
    assert graphs.prefix.shape == (10_000, prefix) == (10_000, task.prefix_length)
    assert graphs.answer.shape == (10_000, answer)
    parts = (np.split(tokens, 10) for tokens in (graphs.prefix, graphs.answer))
    assert sum(violations(*part, arms, length, 100) for part in zip(*parts, strict=True)) == 0


def test_a_broken_rule_is_seen(rng):
    graphs = draw_graphs(PathStar(2, 4, 8, separators=True), 1, rng)
    assert violations(graphs.prefix, graphs.answer, 2, 4, 8) == 0
    assert violations(graphs.prefix, graphs.path(1), 2, 4, 8) == 1
    for column, token in ((0, graphs.prefix[0, 1]), (-1, 3), (2, 9), (-2, graphs.root[0])):
        spoilt = graphs.prefix.copy()
        spoilt[0, column] = token
        assert violations(spoilt, graphs.answer, 2, 4, 8) == 1


def test_the_token_counts_of_the_paper(rng):
    task = PathStar(2, 4, 8)
    assert (task.nodes, task.edges, task.vocabulary, task.prefix_length) == (7, 6, 12, 16)
    assert draw_graphs(task, 3, rng).prefix.shape == (3, 16)


def test_formats_write_the_same_graphs():
    task = PathStar(3, 4, 12)
    tasks = [
        task,
        replace(task, query="first"),
        replace(task, separators=True),
        replace(task, reversed=True),
    ]
    plain, first, bars, back = (draw_graphs(t, 50, np.random.default_rng(1)) for t in tasks)
    edges = plain.prefix[:, :18]
    np.testing.assert_array_equal(first.prefix[:, 3:-1], edges)
    np.testing.assert_array_equal(first.prefix[:, :2], plain.prefix[:, -3:-1])
    without = np.delete(bars.prefix, np.arange(2, 26, 3), axis=1)
    np.testing.assert_array_equal(without[:, :18], edges)
    assert (np.sort(np.unique(bars.prefix[:, 2:26:3])) == [12]).all()
    np.testing.assert_array_equal(back.prefix, plain.prefix)
    np.testing.assert_array_equal(back.answer, plain.answer[:, ::-1])


def test_every_label_order_and_arm_is_as_likely(rng):
    graphs = draw_graphs(PathStar(2, 3, 6), 30_000, rng)
    assert chisquare(np.bincount(graphs.root)).pvalue > 1e-6
    for node in graphs.branches.reshape(len(graphs), -1).T:
        assert chisquare(np.bincount(node)).pvalue > 1e-6
    orders = np.unique(graphs.order, axis=0, return_counts=True)[1]
    assert len(orders) == 24
    assert chisquare(orders).pvalue > 1e-6
    # the arm of the edge listed first says nothing about the goal
    right = (graphs.order[:, 0] < 2).mean()
    assert abs(right - 0.5) < 5 * 0.5 / 30_000**0.5


def test_some_of_the_graphs(rng):
    graphs = draw_graphs(PathStar(2, 4, 8), 20, rng)
    some = graphs.take(np.array([3, 7]))
    np.testing.assert_array_equal(some.prefix, graphs.prefix[[3, 7]])
    np.testing.assert_array_equal(some.answer, graphs.answer[[3, 7]])

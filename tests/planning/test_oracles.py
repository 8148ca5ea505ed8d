from functools import partial

import numpy as np
import pytest

from ntpcompanion.planning import (
    PathStar,
    cheat_loss,
    decode_answers,
    draw_graphs,
    follow_edges,
    look_back,
    plan_path,
    score_answers,
    score_wrong_arm,
)

TASKS = [PathStar(2, 5, 10), PathStar(5, 5, 30, query="first"), PathStar(2, 20, 50)]


def cheat_by_hand(edges, root, path, labels):
    """What the cheat says at each position, from a dictionary of edges."""
    children = {}
    for parent, child in edges:
        children.setdefault(parent, []).append(child)
    rows = [{root: 1.0}]
    for node in path[:-1]:
        own = children.get(node, range(labels))
        rows.append({child: 1 / len(own) for child in own})
    return rows


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_the_cheat_guesses_once_and_then_follows(task, rng):
    graphs = draw_graphs(task, 4, rng)
    for path in (graphs.answer, graphs.path(1)):
        found = np.exp(follow_edges(task, graphs.prefix, path[:, :-1]))
        for row, edges in enumerate(graphs.edges.tolist()):
            wanted = cheat_by_hand(edges, int(graphs.root[row]), path[row].tolist(), task.labels)
            for i, tokens in enumerate(wanted):
                filled = np.zeros(task.vocabulary)
                filled[list(tokens)] = list(tokens.values())
                np.testing.assert_allclose(found[row, i], filled, atol=1e-15)


@pytest.mark.parametrize(("arms", "length"), [(2, 5), (5, 5), (10, 5), (2, 20)])
def test_the_loss_of_the_cheat(arms, length, rng):
    task = PathStar(arms, length, arms * (length - 1) + 1)
    scores = score_answers(draw_graphs(task, 50, rng), partial(follow_edges, task))
    assert abs(scores.loss - cheat_loss(arms, length)) < 1e-12
    assert abs(scores.cross_entropy[1] - np.log(arms)) < 1e-12
    assert scores.legal == pytest.approx(1, abs=1e-12)
    assert scores.accuracy[0] == scores.accuracy[-1] == 1


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_the_planner_is_always_right_and_sure(task, rng):
    graphs = draw_graphs(task, 30, rng)
    scores = score_answers(graphs, partial(plan_path, task))
    assert scores.exact == 1
    assert scores.loss == 0
    np.testing.assert_array_equal(decode_answers(graphs, partial(plan_path, task)), graphs.answer)


def test_backwards_the_cheat_is_the_planner(rng):
    task = PathStar(3, 5, 20, reversed=True)
    graphs = draw_graphs(task, 30, rng)
    fed = graphs.answer[:, :-1]
    np.testing.assert_array_equal(
        follow_edges(task, graphs.prefix, fed), plan_path(task, graphs.prefix, fed)
    )
    assert score_answers(graphs, partial(follow_edges, task)).loss == 0


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_fewer_hops_than_needed_say_nothing(task, rng):
    graphs = draw_graphs(task, 20, rng)
    rows, first = np.arange(20), graphs.answer[:, 1]
    for hops in range(task.length + 1):
        found = np.exp(look_back(task, graphs.prefix, hops))
        assert found.sum(1) == pytest.approx(1)
        enough = hops >= task.length - 2
        np.testing.assert_allclose(found[rows, first], 1 if enough else 1 / task.arms)


def test_a_token_without_a_child_leaves_every_label_open(rng):
    task = PathStar(2, 4, 8)
    graphs = draw_graphs(task, 3, rng)
    fed = graphs.answer[:, :-1].copy()
    fed[:, 1], fed[:, 2] = graphs.answer[:, -1], task.symbol("$")
    found = np.exp(follow_edges(task, graphs.prefix, fed))[:, 2:]
    np.testing.assert_allclose(found[:, :, :8], 1 / 8)
    assert not found[:, :, 8:].any()


def test_the_cheat_follows_a_wrong_arm(rng):
    task = PathStar(3, 5, 20)
    found = score_wrong_arm(draw_graphs(task, 20, rng), partial(follow_edges, task), arm=2)
    assert (found.agreement, found.leaf, found.goal) == ((1.0, 1.0), 1.0, 0.0)

from functools import partial

import numpy as np
import pytest
from scipy.special import log_softmax

from ntpcompanion.planning import (
    PathStar,
    decode_answers,
    draw_graphs,
    follow_edges,
    score_answers,
    score_wrong_arm,
)

TASK = PathStar(2, 5, 10)


def noisy(prefix, fed):
    """A predictor that mixes the cheat with noise that depends on what it sees: it errs anywhere,
    and its guesses at position i depend on the first i fed tokens only.
    """
    cheat = np.exp(follow_edges(TASK, prefix, fed))
    logits = np.empty_like(cheat)
    for row in range(len(prefix)):
        for i in range(TASK.length):
            seed = [*prefix[row], *fed[row, :i], i]
            logits[row, i] = np.random.default_rng(seed).normal(size=TASK.vocabulary)
    return log_softmax(3 * cheat + logits, axis=2)


@pytest.fixture
def graphs(rng):
    return draw_graphs(TASK, 60, rng)


def test_scores_are_those_of_a_loop(graphs):
    scores = score_answers(graphs, noisy)
    found = noisy(graphs.prefix, graphs.answer[:, :-1])
    right, losses, legal = np.zeros((60, 5)), np.zeros((60, 5)), np.zeros(60)
    for row in range(60):
        for i, token in enumerate(graphs.answer[row]):
            right[row, i] = found[row, i, token] == found[row, i].max()
            losses[row, i] = -found[row, i, token]
        legal[row] = sum(np.exp(found[row, 1, graphs.branches[row, arm, 0]]) for arm in (0, 1))
    np.testing.assert_allclose(scores.accuracy, right.mean(0))
    np.testing.assert_allclose(scores.cross_entropy, losses.mean(0))
    assert scores.exact == right.all(1).mean()
    assert 0 < scores.exact < min(scores.accuracy)
    assert scores.legal == pytest.approx(legal.mean())
    assert scores.loss == pytest.approx(losses.mean())


def test_decoding_feeds_what_was_decoded(graphs):
    answer = decode_answers(graphs, noisy)
    again = noisy(graphs.prefix, answer[:, :-1]).argmax(2)
    np.testing.assert_array_equal(again, answer)


def test_the_wrong_arm_is_fed_to_the_end(graphs):
    found = score_wrong_arm(graphs, noisy)
    path = graphs.path(1)
    tokens = noisy(graphs.prefix, path[:, :-1]).argmax(2)
    np.testing.assert_allclose(found.agreement, (tokens == path).mean(0)[2:4])
    assert found.leaf == (tokens[:, 4] == path[:, 4]).mean()
    assert found.goal == (tokens[:, 4] == graphs.answer[:, 4]).mean()
    assert 0 < found.leaf < 1


def test_backwards_there_is_no_first_child(rng):
    task = PathStar(2, 4, 8, reversed=True)
    scores = score_answers(draw_graphs(task, 5, rng), partial(follow_edges, task))
    assert scores.legal is None


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_wrong_arm_needs_a_node_before_the_last(rng):
    with pytest.raises(ValueError, match=r"`graphs`.*at least 4 nodes"):
        score_wrong_arm(draw_graphs(PathStar(2, 3, 8), 3, rng), noisy)

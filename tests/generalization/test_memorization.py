from itertools import combinations
from math import comb

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from ntpcompanion.generalization import (
    memorization_scores,
    nearest_neighbour_scores,
    random_subsets,
)


def flipped_labels(rng, n):
    points = rng.standard_normal((n, 3))
    labels = (points[:, 0] > 0).astype(int)
    return points, np.where(rng.random(n) < 0.2, 1 - labels, labels)


def all_subsets(n, size):
    member = np.zeros((comb(n, size), n), bool)
    for row, chosen in enumerate(combinations(range(n), size)):
        member[row, list(chosen)] = True
    return member


def nearest_neighbour_is_right(points, labels, member):
    fits = (KNeighborsClassifier(1).fit(points[rows], labels[rows]) for rows in member)
    return np.array([fit.predict(points) == labels for fit in fits])


def test_subsets_have_their_size_and_each_example_its_share(rng):
    member = random_subsets(rng, 2000, 8, 3)
    assert member.shape == (2000, 8)
    assert (member.sum(axis=1) == 3).all()
    np.testing.assert_allclose(member.mean(axis=0), 3 / 8, atol=4 * (15 / 64 / 2000) ** 0.5)


def test_scores_are_those_of_a_loop(rng):
    member, correct = random_subsets(rng, 12, 5, 3), rng.random((12, 5)) < 0.6
    found = memorization_scores(member, correct)
    for i in range(5):
        seen = [bool(correct[t, i]) for t in range(12) if member[t, i]]
        unseen = [bool(correct[t, i]) for t in range(12) if not member[t, i]]
        assert found.scores[i] == pytest.approx(np.mean(seen) - np.mean(unseen))
        variance = np.var(seen, ddof=1) / len(seen) + np.var(unseen, ddof=1) / len(unseen)
        assert found.variance[i] == pytest.approx(variance)


def test_the_variance_is_that_of_repeated_estimates(rng):
    """Models are right with probability .9 on an example they have seen, and .4 otherwise."""
    estimates, variances = [], []
    for _ in range(300):
        member = random_subsets(rng, 60, 10, 7)
        correct = rng.random((60, 10)) < np.where(member, 0.9, 0.4)
        found = memorization_scores(member, correct)
        estimates.append(found.scores)
        variances.append(found.variance)
    assert np.mean(estimates) == pytest.approx(0.5, abs=0.01)
    assert np.var(estimates, axis=0).mean() == pytest.approx(np.mean(variances), rel=0.12)


@pytest.mark.parametrize("size", [1, 4, 7, 8])
def test_scores_of_nearest_neighbours_are_those_of_all_subsets(rng, size):
    points, labels = flipped_labels(rng, 9)
    member = all_subsets(9, size)
    correct = nearest_neighbour_is_right(points, labels, member)
    expected = [
        correct[member[:, i], i].mean() - correct[~member[:, i], i].mean() for i in range(9)
    ]
    found = nearest_neighbour_scores(points, labels, size)
    np.testing.assert_allclose(found, expected, atol=1e-12)


MEMBER = np.array([[True, False], [True, True], [False, True], [False, False]])
CALLS = {
    "`size` must lie in 1 … 2 so that some are left out, got 3": lambda: random_subsets(
        np.random.default_rng(0), 2, 3, 3
    ),
    "`member` must hold true and false": lambda: memorization_scores([[1]], [[True]]),
    "`correct` must be a matrix": lambda: memorization_scores(MEMBER, MEMBER[:, 0]),
    "2 of 3 models have example 0": lambda: memorization_scores(MEMBER[:3], MEMBER[:3]),
    "equal rows 0 and 2": lambda: nearest_neighbour_scores([[1], [2], [1]], [0, 1, 0], 1),
    "`size` must lie in 1 … 1 so that one row is left out": lambda: nearest_neighbour_scores(
        [[1], [2]], [0, 1], 2
    ),
}


@pytest.mark.parametrize("words", CALLS)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(words):
    with pytest.raises(ValueError, match=words):
        CALLS[words]()

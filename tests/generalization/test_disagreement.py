from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from ntpcompanion.generalization import compare_disagreement


def by_definition(said, target):
    """Error, disagreement and calibration error in fractions: all pairs of classifiers, all levels
    of votes, `target` in tenths.
    """
    models, n, classes = len(said), len(said[0]), len(target[0])
    law = [[Fraction(int(p), 10) for p in row] for row in target]
    error = sum(1 - law[x][h[x]] for h in said for x in range(n)) / (models * n)
    pairs = product(said, said)
    disagree = sum(Fraction(int(h[x] != g[x])) for h, g in pairs for x in range(n))
    cace = Fraction(0)
    for level in range(models + 1):
        q = Fraction(level, models)
        holds = [
            (x, k)
            for x in range(n)
            for k in range(classes)
            if sum(h[x] == k for h in said) == level
        ]
        cace += abs(sum(law[x][k] - q for x, k in holds)) / n
    return error, disagree / (models**2 * n), cace


@pytest.mark.parametrize("seed", range(20))
def test_all_numbers_are_those_of_the_definitions(seed):
    rng = np.random.default_rng(seed)
    models, n, classes = rng.integers(1, 5), rng.integers(1, 8), rng.integers(2, 6)
    said = rng.integers(0, classes, (models, n))
    target = rng.multinomial(10, np.ones(classes) / classes, size=n)
    found = compare_disagreement(said, target / 10)
    error, disagree, cace = by_definition(said.tolist(), target.tolist())
    assert found.error == pytest.approx(float(error), abs=1e-12)
    assert found.disagreement == pytest.approx(float(disagree), abs=1e-12)
    assert found.calibration_error == pytest.approx(float(cace), abs=1e-12)
    assert found.gap == pytest.approx(found.vote_fractions @ found.residual, abs=1e-12)
    assert found.residual.sum() == pytest.approx(0, abs=1e-12)
    assert abs(disagree - error) <= cace / 2
    assert cace <= 2


def test_a_classifier_that_is_always_wrong_attains_the_bound():
    found = compare_disagreement([[1, 0, 1]], [0, 1, 0])
    assert (found.error, found.disagreement) == (1, 0)
    assert found.calibration_error == pytest.approx(2, abs=1e-12)
    assert abs(found.gap) == pytest.approx(found.bound, abs=1e-12)
    assert np.isnan(found.between_models)


def test_weights_are_repeated_inputs(rng):
    said, labels = rng.integers(0, 3, (4, 3)), [0, 2, 1]
    once = compare_disagreement(said, labels, [0.5, 0.25, 0.25])
    twice = compare_disagreement(said[:, [0, 0, 1, 2]], [0, 0, 2, 1])
    np.testing.assert_allclose(once.residual, twice.residual, atol=1e-12)
    assert once.gap == pytest.approx(twice.gap)


def test_different_classifiers_are_compared_in_pairs(rng):
    said = rng.integers(0, 3, (4, 50))
    pairs = [(said[i] != said[j]).mean() for i in range(4) for j in range(4) if i != j]
    found = compare_disagreement(said, said[0])
    assert found.between_models == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"predictions": [[0, -1]]}, "`predictions` must lie in 0 … inf, .* from -1 to 0"),
        ({"labels": [[[1, 0]], [[1, 0]]]}, "`labels` must be classes, or a row for each input"),
        ({"labels": [[1, 0]]}, r"`labels` must be .* with shape \(2, ...\) .*, got"),
        ({"labels": [[1, 0], [0.5, 0]]}, "`labels` row 1 sums to 0.5"),
        ({"labels": [[1, 0], [0, 1]], "predictions": [[0, 2]]}, "must be columns of `labels`"),
        ({"weight": [0.5, 0.6]}, "`weight` sums to 1.1"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(change, words):
    given = {"predictions": [[0, 1]], "labels": [0, 1]}
    with pytest.raises(ValueError, match=words):
        compare_disagreement(**{**given, **change})

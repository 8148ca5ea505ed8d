import numpy as np
import pytest

from ntpcompanion.experiments.geometry.angles import Angles, compare_angles
from ntpcompanion.geometry import gram_matrices, predicted_grams

SUPPORT = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [1, 0, 0, 1]]) == 1


def off_diagonal(gram):
    length = np.sqrt(np.diag(gram))
    return (gram / np.outer(length, length))[~np.eye(len(gram), dtype=bool)]


def test_the_prediction_agrees_with_itself():
    predicted = predicted_grams(SUPPORT, tol=1e-9)
    found = compare_angles(gram_matrices(predicted.answer.logits), predicted, SUPPORT)
    assert found.words.solution == pytest.approx(1, abs=1e-9)
    assert found.contexts.solution == pytest.approx(1, abs=1e-9)
    assert found.contexts.with_diagonal == pytest.approx(1, abs=1e-9)
    assert Angles.from_json(found.to_json()) == found


def test_each_number_is_the_correlation_with_its_prediction():
    predicted = predicted_grams(SUPPORT)
    grams = gram_matrices(np.random.default_rng(0).standard_normal(SUPPORT.shape))
    found = compare_angles(grams, predicted, SUPPORT)
    for kind in ("words", "contexts"):
        ours = getattr(found, kind)
        for name in ("solution", "root", "plain", "printed"):
            wanted = off_diagonal(getattr(getattr(predicted, name), kind))
            both = np.corrcoef(off_diagonal(getattr(grams, kind)), wanted)
            assert getattr(ours, name) == pytest.approx(both[0, 1], abs=1e-12)
    lengths = np.sqrt(np.diag(grams.contexts))
    pair = grams.contexts[0, 1] / lengths[0] / lengths[1]
    assert found.same_mean == pytest.approx(pair)
    assert found.same_least == pytest.approx(pair)


def test_without_equal_supports_nothing_can_collapse():
    support = SUPPORT[1:]
    found = compare_angles(gram_matrices(support - 0.5), predicted_grams(support), support)
    assert found.same_mean is None
    assert found.same_least is None

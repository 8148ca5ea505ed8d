import numpy as np
import pytest
from scipy.linalg import sqrtm

from ntpcompanion.geometry import all_supports, cosines, equal_supports, predicted_grams
from tests.geometry.cases import drawn_supports


def test_grams_are_those_of_solution_and_proxies():
    support = drawn_supports(8, 5, 2, 0)
    found = predicted_grams(support, tol=1e-9)
    centred = support - support.mean(axis=1, keepdims=True)
    logits = found.answer.logits
    for gram, square in (
        (found.solution.words, logits.T @ logits),
        (found.solution.contexts, logits @ logits.T),
        (found.root.words, centred.T @ centred),
        (found.root.contexts, centred @ centred.T),
    ):
        np.testing.assert_allclose(gram @ gram, square, atol=1e-9)
    np.testing.assert_allclose(found.plain.contexts, centred @ centred.T, atol=1e-12)
    np.testing.assert_allclose(found.printed.words, 1.0 * support.T @ support, atol=0)


def test_the_solution_is_shorter_than_the_proxy_by_what_the_certificate_allows():
    support = drawn_supports(16, 30, 3, 1)
    found = predicted_grams(support, tol=1e-8)
    centred = support - support.mean(axis=1, keepdims=True)
    norm = np.trace(sqrtm(centred @ centred.T).real)
    assert found.shorter == pytest.approx(1 - found.answer.norm / norm, abs=1e-7)
    assert found.shorter > 1e-3
    assert found.answer.duality_gap <= 1e-8


def test_with_all_supports_of_one_size_centred_predictions_agree():
    found = predicted_grams(all_supports(5, 2))
    for name in ("words", "contexts"):
        wanted = cosines(getattr(found.plain, name))
        for one in (found.solution, found.root):
            np.testing.assert_allclose(cosines(getattr(one, name)), wanted, atol=1e-6)
    assert found.shorter == pytest.approx(0, abs=1e-6)


def test_equal_supports_are_pairs_of_different_rows():
    support = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1], [1, 0, 1]])
    wanted = [[i != j and i != 1 and j != 1 for j in range(4)] for i in range(4)]
    assert equal_supports(support).tolist() == wanted


@pytest.mark.parametrize("call", [predicted_grams, equal_supports])
def test_wrong_supports_are_named(call):
    with pytest.raises(ValueError, match="`support` must have a token inside"):
        call([[1, 1], [0, 1]])

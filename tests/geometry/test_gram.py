import numpy as np
import pytest
from scipy.linalg import sqrtm

from ntpcompanion.geometry import cosines, gram_matrices, similarity
from ntpcompanion.geometry.unconstrained import balanced_factors


def test_gram_matrices_are_square_roots_and_those_of_balanced_factors():
    logits = np.random.default_rng(0).standard_normal((7, 4))
    found = gram_matrices(logits)
    np.testing.assert_allclose(found.words, sqrtm(logits.T @ logits).real, atol=1e-7)
    H, W = balanced_factors(logits, 4)
    np.testing.assert_allclose(found.words, W @ W.T, atol=1e-12)
    np.testing.assert_allclose(found.contexts, H @ H.T, atol=1e-12)


def test_cosines_are_those_of_the_vectors():
    vectors = np.random.default_rng(1).standard_normal((5, 3))
    vectors[2] = 0
    found = cosines(vectors @ vectors.T)
    assert found[0, 1] == pytest.approx(
        vectors[0] @ vectors[1] / np.linalg.norm(vectors[0]) / np.linalg.norm(vectors[1])
    )
    assert not found[2].any()


def test_similarity_is_the_correlation_of_entries():
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 4, 6))
    assert similarity(a, b) == pytest.approx(np.corrcoef(a.ravel(), b.ravel())[0, 1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cosines([[1.0, 2.0]]), "`gram` must be square"),
        (lambda: cosines([[-1.0]]), "squared lengths"),
        (lambda: similarity([[1.0, 2.0]], [[1.0], [2.0]]), "`second`"),
        (lambda: similarity([[1.0, 1.0]], [[1.0, 2.0]]), "`first` has the same entry"),
        (lambda: gram_matrices([[np.inf]]), "`logits`"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()

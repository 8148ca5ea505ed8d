import numpy as np
import pytest
from scipy.linalg import sqrtm

from ntpcompanion.geometry import cosines, gram_matrices, pair_similarity, similarity
from ntpcompanion.geometry.gram_matrices import plain_grams
from ntpcompanion.geometry.ridge_minimizers import balanced_factors


def test_gram_matrices_are_square_roots_and_those_of_balanced_factors():
    logits = np.random.default_rng(0).standard_normal((7, 4))
    found = gram_matrices(logits)
    np.testing.assert_allclose(found.words, sqrtm(logits.T @ logits).real, atol=1e-7)
    H, W = balanced_factors(logits, 4)
    np.testing.assert_allclose(found.words, W @ W.T, atol=1e-12)
    np.testing.assert_allclose(found.contexts, H @ H.T, atol=1e-12)


def test_plain_gram_matrices_are_the_squares():
    matrix = np.random.default_rng(4).standard_normal((7, 4))
    plain, found = plain_grams(matrix), gram_matrices(matrix)
    np.testing.assert_allclose(plain.words, found.words @ found.words, atol=1e-12)
    np.testing.assert_allclose(plain.contexts, found.contexts @ found.contexts, atol=1e-12)


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


def test_pair_similarity_is_the_correlation_off_the_diagonal():
    x, y = np.random.default_rng(3).standard_normal((2, 6, 4))
    between = [
        [u @ v / np.linalg.norm(u) / np.linalg.norm(v) for i, u in enumerate(z) for v in z[:i]]
        for z in (x, y)
    ]
    wanted = np.corrcoef(*between)[0, 1]
    assert pair_similarity(x @ x.T, y @ y.T) == pytest.approx(wanted, abs=1e-12)
    # lengths do not count, angles do
    scale = np.diag([1.0, 2, 3, 4, 5, 6])
    assert pair_similarity(scale @ x @ x.T @ scale, x @ x.T) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pair_similarity(np.eye(2), np.eye(2)), "`first` must be of 3 vectors"),
        (lambda: pair_similarity(np.eye(3), np.eye(4)), "`second` must be a matrix"),
        (lambda: cosines([[1.0, 2.0]]), "`gram` must be a matrix"),
        (lambda: cosines([[-1.0]]), "squared lengths"),
        (lambda: similarity([[1.0, 2.0]], [[1.0], [2.0]]), "`second`"),
        (lambda: similarity([[1.0, 1.0]], [[1.0, 2.0]]), "`first` must not have the same entry"),
        (lambda: gram_matrices([[np.inf]]), "`logits`"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()

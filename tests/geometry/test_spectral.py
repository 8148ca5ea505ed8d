import numpy as np
import pytest

from ntpcompanion.geometry.spectral import nuclear_norm, shrink_singular_values, spectral_norm


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (1, 6)])
def test_norms_are_those_of_the_singular_values(shape):
    matrix = np.random.default_rng(0).standard_normal(shape)
    values = np.linalg.svd(matrix, compute_uv=False)
    assert nuclear_norm(matrix) == pytest.approx(values.sum(), rel=1e-12)
    assert spectral_norm(matrix) == pytest.approx(values[0], rel=1e-12)


@pytest.mark.parametrize("shape", [(7, 4), (4, 7)])
@pytest.mark.parametrize("threshold", [0.1, 1.0, 100.0])
def test_shrinking_lowers_each_singular_value(shape, threshold):
    matrix = np.random.default_rng(1).standard_normal(shape)
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    wanted = left * np.maximum(values - threshold, 0) @ right
    np.testing.assert_allclose(shrink_singular_values(matrix, threshold), wanted, atol=1e-12)


def test_no_other_matrix_has_a_lower_proximal_objective():
    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((6, 4))

    def objective(X):
        return ((X - matrix) ** 2).sum() / 2 + 0.8 * nuclear_norm(X)

    best = shrink_singular_values(matrix, 0.8)
    least = objective(best)
    for scale in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            assert objective(best + scale * rng.standard_normal(matrix.shape)) > least

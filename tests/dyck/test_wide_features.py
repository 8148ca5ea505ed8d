import numpy as np
import pytest

from ntpcompanion.dyck.bracket_counting import minimum_norm_head, population_error
from ntpcompanion.dyck.sentences import downstream_strings
from ntpcompanion.dyck.wide_features import (
    RIDGE,
    arc_cosine_kernel,
    limiting_error,
    squared_kernel,
    wide_learning_curve,
)


def strings(T):
    inputs, targets = downstream_strings(T)
    return inputs.sum(1)[:, :T], targets


def kernel_matrix(s, by_distance):
    T = s.shape[1]
    return by_distance[(T - s @ s.T) // 2]


@pytest.mark.parametrize("T", [4, 10])
def test_the_kernel_is_the_integral_over_the_angle(T):
    """Of a Gaussian vector in the plane of two strings: E r² = 2, and an angle."""
    angles = np.linspace(0, 2 * np.pi, 200_001)[:-1]
    for distance, value in enumerate(arc_cosine_kernel(T)):
        between = np.arccos(1 - 2 * distance / T)
        product = np.maximum(np.cos(angles), 0) * np.maximum(np.cos(angles - between), 0)
        assert value == pytest.approx(2 * T * product.mean(), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("T", [4, 6, 8])
def test_averages_over_all_strings_by_enumeration(T):
    s, targets = strings(T)
    K = kernel_matrix(s, arc_cosine_kernel(T))
    assert K @ K / 2**T == pytest.approx(kernel_matrix(s, squared_kernel(T)), rel=1e-12)
    assert K @ targets / 2**T == pytest.approx(targets / 4, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("T", [4, 6, 8])
def test_errors_are_those_of_the_enumerated_strings(T):
    """The same draws, with the kernel's rows as features of a least-squares fit in the dual."""
    sizes, draws = [2, T, 2 * T], 6
    found = wide_learning_curve(T, sizes, draws, np.random.default_rng(1))
    drawn = np.random.default_rng(1).choice(np.array([-1, 1]), (draws, max(sizes), T))
    everything, targets = strings(T)
    expected = []
    for n in sizes:
        errors = []
        for sample in drawn[:, :n]:
            dual = minimum_norm_head(kernel_matrix(sample, arc_cosine_kernel(T)), sample.sum(1))
            rows = arc_cosine_kernel(T)[(T - everything @ sample.T) // 2]
            errors.append(population_error(rows, targets, dual))
        expected.append(np.mean(errors))
    assert found.error == pytest.approx(np.array(expected), rel=1e-8, abs=1e-10)
    assert found.sizes.tolist() == sizes


def test_finite_random_features_approach_them():
    """The head of least norm on ever more features, on the same eight strings of T = 6."""
    T, rng = 6, np.random.default_rng(0)
    everything, targets = strings(T)
    sample = np.random.default_rng(2).choice(np.array([-1, 1]), (2, 8, T))[0]
    wide = wide_learning_curve(T, [8], 2, np.random.default_rng(2))
    second = np.random.default_rng(2).choice(np.array([-1, 1]), (2, 8, T))[1]
    gaps = []
    for width in (300, 30_000):
        rows = rng.standard_normal((width, T))
        features = np.maximum(everything @ rows.T, 0)
        errors = [
            population_error(
                features,
                targets,
                minimum_norm_head(np.maximum(part @ rows.T, 0), part.sum(1)),
            )
            for part in (sample, second)
        ]
        gaps.append(abs(np.mean(errors) / wide.error[0] - 1))
    assert gaps[1] < 0.02
    assert gaps[1] < gaps[0]


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0, 4.0])
def test_the_limit_is_the_average_over_eigenvalues(ratio):
    """Of SᵀS/T for one large matrix of signs: their distribution is that of Marchenko and Pastur
    up to 1/T.
    """
    T = 300
    S = np.random.default_rng(0).choice(np.array([-1.0, 1.0]), (int(ratio * T), T))
    eigenvalues = np.maximum(np.linalg.eigvalsh(S.T @ S / T), 0)
    assert limiting_error(ratio) == pytest.approx(
        np.mean(RIDGE**2 / (eigenvalues + RIDGE) ** 2), rel=0.02
    )


def test_the_limit_falls_from_one():
    ratios = np.geomspace(1e-4, 1e3, 50)
    values = np.array([limiting_error(ratio) for ratio in ratios])
    assert values[0] == pytest.approx(1, abs=1e-3)
    assert (np.diff(values) < 0).all()
    # ridge on many strings: (δ T/n)²
    assert values[-1] == pytest.approx((RIDGE / ratios[-1]) ** 2, rel=0.01)


def test_long_sentences_reach_the_limit():
    T = 60
    curve = wide_learning_curve(T, [T, 2 * T, 4 * T], 12, np.random.default_rng(0))
    limits = np.array([limiting_error(ratio) for ratio in (1, 2, 4)])
    assert (np.abs(curve.error - limits) < 0.08 * limits + 4 * curve.error_stderr).all()


def test_enough_strings_of_a_short_sentence_leave_no_error():
    """All 16 strings of T = 4 determine the head, whether drawn once or more often."""
    curve = wide_learning_curve(4, [200], 5, np.random.default_rng(0))
    assert curve.exact.tolist() == [1.0]

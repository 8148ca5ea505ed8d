import mpmath
import numpy as np
import pytest
from scipy.linalg import expm

from ntpcompanion.generalization import effective_time, flow_filter, student_filter
from ntpcompanion.generalization.distillation import filter_risk

RATES = np.geomspace(1e-6, 1e2, 17)
TIMES = (0.1, 1.0, 7.0, 100.0)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 9)), rng.standard_normal(6)
    return X, y, *np.linalg.eigh(X @ X.T)


def test_filters_are_those_of_the_matrix_exponential(problem):
    X, _, rates, vectors = problem
    teacher, student = (np.eye(6) - expm(-t * X @ X.T) for t in (0.03, 0.2))
    seen = vectors * student_filter(rates, student_time=0.2, teacher_time=0.03) @ vectors.T
    np.testing.assert_allclose(seen, student @ teacher, atol=1e-13)
    np.testing.assert_allclose(vectors * flow_filter(rates, 0.2) @ vectors.T, student, atol=1e-13)


def test_descent_is_the_flow_with_other_eigenvalues(problem):
    X, y, rates, vectors = problem
    step, target = 0.5 / rates.max(), y
    for count in (7, 4):  # teacher, then student
        theta = np.zeros(9)
        for _ in range(count):
            theta += step * X.T @ (target - X @ theta)
        target = X @ theta
    moved = -np.log1p(-step * rates) / step
    kept = student_filter(moved, student_time=4 * step, teacher_time=7 * step)
    np.testing.assert_allclose(target, vectors @ (kept * (vectors.T @ y)), atol=1e-13)


def in_many_digits(rate, s, t):
    with mpmath.workdps(60):
        rate, s, t = map(mpmath.mpf, (float(rate), s, t))
        both = (1 - mpmath.exp(-rate * s)) * (1 - mpmath.exp(-rate * t))
        # near 1 the difference to 1 has fewer digits than 60 at the largest times
        left = mpmath.exp(-rate * s) + mpmath.exp(-rate * t) - mpmath.exp(-rate * (s + t))
        return float(-mpmath.log(left if both > 0.5 else 1 - both) / rate)


@pytest.mark.parametrize("s", TIMES)
@pytest.mark.parametrize("t", TIMES)
def test_the_effective_time_is_right_in_every_range(s, t):
    found = effective_time(RATES, student_time=s, teacher_time=t)
    np.testing.assert_allclose(found, [in_many_digits(x, s, t) for x in RATES], rtol=1e-14)
    assert (np.diff(found) >= -1e-15 * min(s, t)).all()  # saturated: equal to rounding
    assert (found <= min(s, t) * (1 + 1e-15)).all()
    assert found[0] == pytest.approx(1e-6 * s * t, rel=1e-3)


def test_the_risk_is_the_mean_over_draws_of_noise():
    rng = np.random.default_rng(1)
    kept, targets, spread = rng.random(4), rng.standard_normal(4), rng.random(4)
    draws = kept * (targets + spread * rng.standard_normal((200_000, 4))) - targets
    errors = (draws**2).sum(axis=1)
    risk = filter_risk(kept, signal=targets**2, noise=spread**2)
    assert abs(errors.mean() - risk) < 4 * errors.std() / 200_000**0.5
    both = filter_risk([[kept, 0 * kept]], signal=targets**2, noise=spread**2)
    np.testing.assert_allclose(both, [[risk, (targets**2).sum()]])


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: flow_filter([1, 0], 1),
            "`eigenvalues` must be positive and finite, so leave out directions with eigenvalue 0",
        ),
        (
            lambda: filter_risk(1, signal=[1], noise=[1]),
            "`fractions` must be an array of floating-point numbers with shape",
        ),
        (
            lambda: filter_risk([1, 1], signal=[1, 1], noise=[1]),
            "`noise` must be a vector of floating-point numbers with shape",
        ),
    ],
)
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        call()

from itertools import chain, combinations

import numpy as np
import pytest
from scipy import integrate, stats

from ntpcompanion.generalization import LinearProblem
from ntpcompanion.generalization.uniform_convergence import (
    Sample,
    margins,
    one_step,
    reverse_noise,
    tightest_uniform_bound,
)


def test_the_exact_test_error_is_that_of_many_fresh_points(rng):
    problem = LinearProblem(m=20, dim=300)
    w = one_step(problem.draw(rng))
    wrong = np.mean(margins(w, problem.draw(rng, 10_000)) <= 0)
    exact = problem.test_error(w)
    assert abs(wrong - exact) < 4 * (exact * (1 - exact) / 10_000) ** 0.5


def test_the_limit_is_near_the_mean_over_all_samples(rng):
    """‖w₂‖² is 32 m χ²/D with D degrees of freedom; the exact mean is an integral over χ²."""
    problem = LinearProblem(m=20, dim=2000)

    def weighted(x):
        error = stats.norm.sf((problem.dim / (64 * problem.m * x)) ** 0.5)
        return error * stats.chi2.pdf(x * problem.dim, problem.dim) * problem.dim

    exact = integrate.quad(weighted, 0.7, 1.3)[0]
    assert problem.limit_error == pytest.approx(exact, rel=1e-3)
    found = [problem.test_error(one_step(problem.draw(rng))) for _ in range(40)]
    assert np.mean(found) == pytest.approx(exact, abs=4 * stats.sem(found))


def test_margins_have_the_predicted_mean_and_deviation(rng):
    problem = LinearProblem(m=50, dim=2000)
    seen = {"own": [], "reversed": [], "fresh": []}
    for _ in range(40):
        sample = problem.draw(rng)
        w = one_step(sample)
        seen["own"].append(margins(w, sample))
        seen["reversed"].append(margins(w, reverse_noise(sample)))
        seen["fresh"].append(margins(w, problem.draw(rng)))
    for name, mean in {"own": 36, "reversed": -28, "fresh": 4}.items():
        means = np.mean(seen[name], axis=1)
        assert means.mean() == pytest.approx(mean, abs=4 * stats.sem(means) + 0.05)
        assert np.std(seen[name]) == pytest.approx(problem.margin_deviation, rel=0.1)


def test_reversing_twice_returns_the_sample(rng):
    sample = LinearProblem(m=5, dim=7).draw(rng)
    moved = reverse_noise(sample)
    np.testing.assert_array_equal(moved.inputs[:, 0], sample.inputs[:, 0])
    np.testing.assert_array_equal(moved.inputs[:, 1:], -sample.inputs[:, 1:])
    np.testing.assert_array_equal(reverse_noise(moved).inputs, sample.inputs)
    assert moved.labels is sample.labels


def test_the_signal_alone_makes_no_error():
    problem = LinearProblem(m=4, dim=3)
    assert problem.test_error([1, 0, 0, 0]) == 0
    assert problem.test_error([-1, 0, 0, 0]) == 1
    assert problem.test_error([0, 1, 0, 0]) == 0.5


def by_hand(gaps, probabilities, delta):
    n = len(probabilities)
    every = chain.from_iterable(combinations(range(n), k) for k in range(1, n + 1))
    best = np.inf
    for chosen in every:
        if sum(probabilities[i] for i in chosen) >= 1 - delta - 1e-12:
            best = min(best, max(gaps[i][j] for i in chosen for j in chosen))
    return best


@pytest.mark.parametrize("delta", [0.05, 0.3, 0.7])
def test_the_bound_is_the_best_over_all_sets(rng, delta):
    gaps, probabilities = rng.random((6, 6)), rng.dirichlet(np.ones(6))
    found = tightest_uniform_bound(gaps, probabilities, delta)
    assert found == by_hand(gaps, probabilities, delta)


@pytest.mark.parametrize(("delta", "bound"), [(0.1, 5 / 6), (0.49, 5 / 6), (0.5, 1 / 6)])
def test_a_classifier_that_errs_on_one_mirrored_point(delta, bound):
    """Six points, samples of one; the classifier errs on the mirror image of its sample only."""
    gaps = np.abs(1 / 6 - np.eye(6)[::-1])
    assert tightest_uniform_bound(gaps, np.full(6, 1 / 6), delta) == pytest.approx(bound)


def test_probabilities_that_are_rounded_leave_a_set_of_samples():
    assert tightest_uniform_bound([[0, 1], [1, 0]], [0.5, 0.5 - 9e-9], 1e-9) == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: LinearProblem(3, 3).test_error([1, 2]),
            "`w` must be a vector of",
        ),
        (lambda: LinearProblem(3, 3).test_error([0] * 4), "`w` must not be 0"),
        (lambda: margins([1], Sample(np.ones((1, 2)), np.array([1]))), "`w` must be a vector of"),
        (lambda: tightest_uniform_bound([[1]], [0.5], 0.1), "sums to 0.5"),
        (lambda: tightest_uniform_bound(np.eye(17), np.full(17, 1 / 17), 0.1), "1 … 16"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()

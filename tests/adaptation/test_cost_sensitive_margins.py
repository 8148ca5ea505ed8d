"""The cost-sensitive machine against other solvers, its best margin against searches."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar, nnls
from scipy.stats import norm
from sklearn.svm import SVC

from ntpcompanion.adaptation import (
    best_delta,
    cost_sensitive_svm,
    move_margin,
    predicted_scores,
)
from ntpcompanion.adaptation.cost_sensitive_margins import balanced_error
from ntpcompanion.randomness import stream


def draw(seed, sizes=(6, 9), deviations=(1.0, 1.0), dim=30, separation=2.0):
    """Examples of two classes with means ± along the first axis, and their labels."""
    labels = np.repeat([1, -1], sizes)
    inputs = np.repeat(deviations, sizes)[:, None] * stream(seed, "examples").standard_normal(
        (sum(sizes), dim)
    )
    inputs[:, 0] += separation * labels
    return inputs, labels


def gaussian(svm, deviations, separation):
    """Means and deviations of the scores of new examples."""
    along = separation * svm.weights[0]
    means = np.array([svm.bias + along, svm.bias - along])
    return means, np.linalg.norm(svm.weights) * np.asarray(deviations)


@pytest.mark.parametrize("seed", range(3))
def test_margins_of_one_are_the_machine_of_libsvm(seed):
    inputs, labels = draw(seed)
    theirs = SVC(kernel="linear", C=1e6, tol=1e-10).fit(inputs, labels)
    ours = cost_sensitive_svm(inputs, labels)
    assert np.allclose(ours.weights, theirs.coef_[0], atol=1e-7)
    assert ours.bias == pytest.approx(theirs.intercept_[0], abs=1e-7)


@pytest.mark.parametrize("delta", [0.1, 0.5, 3.0, 20.0])
@pytest.mark.parametrize("dim", [2, 30])
def test_the_closed_form_solves_the_program(delta, dim):
    """It has multipliers, which prove it optimal; and it is what a solver finds."""
    inputs, labels = draw(7, dim=dim, separation=5.0)
    closed = move_margin(cost_sensitive_svm(inputs, labels), delta)
    slack = labels * (inputs @ closed.weights + closed.bias) - np.where(labels > 0, delta, 1.0)
    assert slack.min() > -1e-6
    active = slack < 1e-6
    rows = labels[active, None] * np.column_stack([inputs[active], np.ones(active.sum())])
    _, residual = nnls(rows.T, np.append(closed.weights, 0.0))
    assert residual < 1e-6 * np.linalg.norm(closed.weights)
    solved = cost_sensitive_svm(inputs, labels, delta)
    assert np.allclose(closed.weights, solved.weights, atol=1e-5)
    assert closed.bias == pytest.approx(solved.bias, abs=1e-5)


def test_data_without_a_hyperplane_are_rejected():
    with pytest.raises(ValueError, match="separable"):
        cost_sensitive_svm([[0.0], [1.0], [2.0]], [1, -1, 1])


@pytest.mark.parametrize("deviations", [(0.3, 0.3), (0.9, 0.3), (0.2, 0.7), (1.5, 0.1)])
@pytest.mark.parametrize("means", [(0.6, -0.4), (0.2, -1.1), (1.2, -0.9)])
def test_the_best_margin_is_that_of_a_search(means, deviations):
    shift = np.linspace(-1, 1, 20001)[1:-1]
    errors = (
        norm.cdf(-(means[0] + shift) / deviations[0])
        + norm.cdf((means[1] + shift) / deviations[1])
    ) / 2  # fmt: skip
    best = shift[errors.argmin()]
    found = best_delta([*means], [*deviations])
    tau = (found - 1) / (found + 1) if np.isfinite(found) else 1.0
    assert tau == pytest.approx(best, abs=2e-4)


def test_where_no_margin_reaches_the_best_threshold():
    assert best_delta([-2.0, -4.0], [1.0, 1.0]) == np.inf
    assert best_delta([4.0, 2.0], [1.0, 1.0]) == 0.0
    with pytest.raises(ValueError, match="larger for the positive class"):
        best_delta([0.0, 1.0], [1.0, 1.0])


def test_the_balanced_error_is_that_of_new_examples():
    """At the best margin and elsewhere, with the program solved for each margin."""
    deviations, inputs, labels = (1.5, 1.0), *draw(3, (25, 25), (1.5, 1.0), 200, 3.0)
    new, classes = draw(4, (20000, 20000), deviations, 200, 3.0)
    margins = [0.5, 1.0, best_delta(*gaussian(cost_sensitive_svm(inputs, labels), deviations, 3.0))]
    expected = []
    for delta in margins:
        svm = cost_sensitive_svm(inputs, labels, delta)
        expected.append(balanced_error(*gaussian(svm, deviations, 3.0)))
        wrong = np.mean(np.sign(new @ svm.weights + svm.bias) != classes)
        assert wrong == pytest.approx(expected[-1], abs=0.008)
    assert min(expected) == expected[-1]


ATTRIBUTES = [((25, 25), (2, 1)), ((10, 40), (1, 1)), ((10, 40), (1, 2)), ((8, 12), (1, 0.7))]


@pytest.mark.parametrize(("sizes", "deviations"), ATTRIBUTES)
def test_the_prediction_is_the_machine_of_the_mean_gram_matrix(sizes, deviations):
    """The least norm over the bias, with labels interpolated, by a search."""
    dim, separation = 500, 4.0
    labels = np.repeat([1.0, -1.0], sizes)
    noise = np.repeat(np.square(deviations), sizes) * dim
    gram = separation**2 * np.outer(labels, labels) + np.diag(noise)

    def squared_norm(bias):
        return (labels - bias) @ np.linalg.solve(gram, labels - bias)

    bias = minimize_scalar(squared_norm, bounds=(-1, 1), options={"xatol": 1e-12}).x
    along = separation**2 * labels @ np.linalg.solve(gram, labels - bias)
    found = predicted_scores([*sizes], [*deviations], separation=separation, dim=dim)
    assert np.allclose(found.means, [bias + along, bias - along], atol=1e-6)
    assert np.allclose(found.deviations, np.sqrt(squared_norm(bias)) * np.array(deviations))


@pytest.mark.parametrize(("sizes", "deviations"), ATTRIBUTES)
def test_the_best_margin_tends_to_its_limit(sizes, deviations):
    """With ‖μ‖² = d^0.6 the distance vanishes, about as d^(-0.4)."""
    limit = sizes[1] * deviations[0] ** 2 / (sizes[0] * deviations[1] ** 2)
    errors = []
    for dim in (10**8, 10**12):
        scores = predicted_scores([*sizes], [*deviations], separation=dim**0.3, dim=dim)
        errors.append(abs(np.log(best_delta(*scores) / limit)))
    assert errors[1] < 0.03
    assert errors[1] <= errors[0]

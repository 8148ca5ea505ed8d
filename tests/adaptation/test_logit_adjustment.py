"""Fitted adjustments against a general minimizer, and where the answer is known."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from ntpcompanion.adaptation import fit_adjustment
from ntpcompanion.randomness import stream

CLASSES = 4


def draw(seed, count=60):
    """Logits with errors, labels with all classes, and two features of the classes."""
    rng = stream(seed, "logits")
    labels = np.repeat(np.arange(CLASSES), count // CLASSES)
    logits = 2 * np.eye(CLASSES)[labels] + 2 * rng.standard_normal((count, CLASSES))
    return logits + rng.standard_normal(CLASSES), labels, rng.standard_normal((CLASSES, 2))


def loss(point, logits, labels, features, ridge):
    adjusted = log_softmax(point[0] * logits + features @ point[1:], axis=1)
    return -adjusted[np.arange(len(labels)), labels].mean() + ridge / 2 * point[1:] @ point[1:]


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["map", "free"])
def test_a_general_minimizer_finds_the_same(kind, ridge):
    logits, labels, features = draw(1)
    features = np.eye(CLASSES) if kind == "free" else features
    found = fit_adjustment(logits, labels, features, ridge)
    start = np.append(1.0, np.zeros(features.shape[1]))
    theirs = minimize(loss, start, (logits, labels, features, ridge), tol=1e-10)
    ours = loss(np.append(found.scale, found.coefficients), logits, labels, features, ridge)
    assert ours == pytest.approx(theirs.fun, abs=1e-9)
    assert found.scale == pytest.approx(theirs.x[0], abs=1e-4)
    assert np.ptp(found.shifts - features @ theirs.x[1:]) < 1e-4


def test_free_shifts_give_each_class_its_frequency():
    """What the derivative by a shift says: predicted and true counts agree."""
    logits, labels, _ = draw(2, 200)
    found = fit_adjustment(logits, labels, np.eye(CLASSES))
    probabilities = np.exp(log_softmax(found.apply(logits), axis=1))
    assert np.allclose(probabilities.mean(0), 1 / CLASSES, atol=1e-4)


def test_exact_posteriors_are_adjusted_by_the_sizes_alone():
    """Gaussian classes of different noise, in one dimension: log π is subtracted, scale 1."""
    prior, deviations = np.array([0.7, 0.2, 0.1]), np.array([1.0, 2.0, 0.5])
    labels = np.repeat(np.arange(3), 20000)
    points = np.array([0.0, 2.0, 3.0])[labels] + deviations[labels] * stream(
        3, "points"
    ).standard_normal(len(labels))
    squares = ((points[:, None] - [0.0, 2.0, 3.0]) / deviations) ** 2
    posterior = np.log(prior / deviations) - squares / 2
    found = fit_adjustment(posterior, labels, np.eye(3))
    assert found.scale == pytest.approx(1, abs=0.03)
    assert np.ptp(found.shifts + np.log(prior)) < 0.08


def test_a_map_is_a_free_adjustment_of_its_span():
    logits, labels, _ = draw(4)
    turned = np.linalg.qr(stream(4, "turn").standard_normal((CLASSES, CLASSES)))[0]
    free = fit_adjustment(logits, labels, np.eye(CLASSES))
    assert np.ptp(fit_adjustment(logits, labels, turned).shifts - free.shifts) < 1e-4


def test_a_sample_without_errors_gets_a_large_scale():
    assert fit_adjustment(np.eye(2), np.array([0, 1]), np.eye(2)).scale > 10


def test_labels_and_features_are_those_of_the_classes():
    with pytest.raises(ValueError, match=r"`labels`.*2"):
        fit_adjustment([[1.0, 0.0]], np.array([2]), np.eye(2))
    with pytest.raises(ValueError, match="`features`"):
        fit_adjustment([[1.0, 0.0]], np.array([1]), np.eye(3))


@pytest.mark.parametrize("seed", range(3))
def test_full_steps_that_overshoot_are_shortened(seed):
    logits, labels, _ = draw(seed)
    far = 60 * logits[::-1]  # confident and wrong
    found = fit_adjustment(far, labels, np.eye(CLASSES), 0.01)
    point = np.append(found.scale, found.coefficients)
    theirs = minimize(loss, np.zeros(CLASSES + 1), (far, labels, np.eye(CLASSES), 0.01), tol=1e-10)
    assert loss(point, far, labels, np.eye(CLASSES), 0.01) == pytest.approx(theirs.fun, abs=1e-6)

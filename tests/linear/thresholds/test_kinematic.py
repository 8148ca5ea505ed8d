import numpy as np
import pytest
from scipy.stats import binom

from ntpcompanion.linear.thresholds.kinematic import face_probabilities, separable_probability
from ntpcompanion.linear.thresholds.threshold import statistical_dimension

SIZES = [(2, 1), (3, 1), (3, 2), (5, 2), (10, 1), (10, 8), (12, 1), (40, 3)]


@pytest.mark.parametrize(("V", "S"), SIZES)
def test_they_are_probabilities_with_the_statistical_dimension_as_mean(V, S):
    chances = face_probabilities(V, S)
    assert chances.shape == (V - S + 1,)
    assert chances.min() > -1e-15
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    mean = 1 + chances @ np.arange(V - S + 1)
    assert mean == pytest.approx(statistical_dimension(V, S), abs=1e-10)


def test_three_tokens_by_hand():
    # one-hot: the chambers of three logits, two of which project to a face of two dimensions
    np.testing.assert_allclose(face_probabilities(3, 1), [1 / 6, 1 / 2, 1 / 3], atol=1e-14)
    np.testing.assert_allclose(face_probabilities(3, 2), [1 / 2, 1 / 2], atol=1e-14)


def test_they_are_the_frequencies_of_projections(rng):
    V, S, draws = 5, 2, 20_000
    g = rng.standard_normal((draws, V))
    # tokens join the level from the largest on, as long as they lie above the mean of the joined
    others, total, joined = -np.sort(-g[:, S:], axis=1), g[:, :S].sum(axis=1), np.full(draws, S)
    for token in others.T:
        joins = token * joined > total
        total, joined = total + joins * token, joined + joins
    found = np.bincount(V - joined, minlength=V - S + 1) / draws
    expected = face_probabilities(V, S)
    assert (np.abs(found - expected) <= 4 * np.sqrt(expected / draws)).all()


@pytest.mark.parametrize("m", [1, 2, 7, 40])
def test_two_tokens_are_covers_theorem(m):
    cover = binom.cdf(np.arange(m), m - 1, 0.5)  # 2^{−(m−1)} Σ_{k<d} (m−1 choose k)
    np.testing.assert_allclose(separable_probability(2, 1, m), cover, atol=1e-13)


@pytest.mark.parametrize(("V", "S"), [(4, 1), (10, 4)])
def test_it_rises_to_one_about_the_predicted_threshold(V, S):
    m = 60
    curve = separable_probability(V, S, m)
    assert (np.diff(curve) >= -1e-15).all()
    assert curve[-1] == 1.0
    half = np.interp(0.5, curve, np.arange(1, m + 1)) / m
    threshold = 1 - (statistical_dimension(V, S) - 1) / (V - 1)
    assert half == pytest.approx(threshold, abs=1 / m)


@pytest.mark.parametrize("sizes", [(1, 1, 5), (3, 3, 5), (3, 1, 0)])
def test_sizes_are_checked(sizes):
    with pytest.raises(ValueError, match=r"`(vocab_size|support_size|num_contexts)`"):
        separable_probability(*sizes)

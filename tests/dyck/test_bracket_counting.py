import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from ntpcompanion.dyck.bracket_counting import (
    balanced_fraction,
    best_head_error,
    downstream_features,
    expected_error,
    learning_curve,
    minimum_norm_head,
    pooled,
    population_error,
    success_probability,
)
from ntpcompanion.dyck.bracket_transformer import predict, uniform_attention
from ntpcompanion.dyck.neurons import Neurons
from ntpcompanion.dyck.sentences import downstream_strings, masked_support
from ntpcompanion.dyck.solutions import (
    memoriser,
    random_features,
    three_neurons,
    transferable,
    transferable_neurons,
)


@pytest.mark.parametrize(("T", "n"), [(2, 0), (2, 1), (2, 3), (4, 1), (4, 2), (4, 3), (6, 2)])
def test_success_and_error_are_means_over_all_samples(T, n):
    """A head on every sample of n strings, each solved on its own; equality of fractions."""
    features, targets = downstream_features(transferable(T))
    kinds = [(sign, Fraction(int((np.sign(targets) == sign).sum()), 2**T)) for sign in (1, 0, -1)]
    success = mean = Fraction(0)
    for sample in itertools.product(kinds, repeat=n):
        rows = [int(np.flatnonzero(np.sign(targets) == sign)[0]) for sign, _ in sample]
        head = minimum_norm_head(features[rows], targets[rows]) if n else np.zeros(2)
        error = Fraction(round(2 * population_error(features, targets, head)), 2)
        assert float(error) == pytest.approx(population_error(features, targets, head), abs=1e-12)
        weight = Fraction(1) * np.prod([share for _, share in sample])
        success, mean = success + weight * (error == 0), mean + weight * error
    assert success_probability(T, n) == success
    assert expected_error(T, n) == mean


@pytest.mark.parametrize("T", [4, 6])
def test_the_probability_of_both_signs_by_counting_triples(T):
    """All 2^{3T} triples of strings, by the signs of their sums."""
    signs = np.sign(downstream_strings(T)[1])
    for n in (1, 2, 3):
        grids = np.meshgrid(*[signs] * n)
        both = (np.max(grids, axis=0) == 1) & (np.min(grids, axis=0) == -1)
        assert success_probability(T, n) == Fraction(int(both.sum()), 2 ** (T * n))


@pytest.mark.parametrize("T", [6, 8, 12])
def test_beyond_it_is_that_of_a_simulation(T, rng):
    curve = learning_curve(transferable(T), [4, 8, 16], 400, rng)
    for n, found, error, error_stderr in zip(
        curve.sizes, curve.exact, curve.error, curve.error_stderr, strict=True
    ):
        chance = float(success_probability(T, n))
        assert abs(found - chance) < 4.5 * (chance * (1 - chance) / 400) ** 0.5
        assert abs(error - float(expected_error(T, n))) < 4.5 * max(
            error_stderr, (float(expected_error(T, n)) / 400) ** 0.5
        )


def test_the_printed_probability_is_too_large():
    """1 − 2^{−n}, for every n ≥ 1 and every length; the numbers at T = 6 and 8, and a bound for all
    T ≥ 6.
    """
    for T in (6, 8, 10, 12, 40):
        for n in range(1, 40):
            assert success_probability(T, n) < 1 - Fraction(1, 2**n)
            assert success_probability(T, n) >= 1 - 2 * Fraction(21, 32) ** n
    rounded = {
        T: [round(float(success_probability(T, n)), 3) for n in (1, 2, 4, 8)] for T in (6, 8)
    }
    assert rounded == {6: [0, 0.236, 0.639, 0.931], 8: [0, 0.264, 0.677, 0.946]}
    assert balanced_fraction(6) == Fraction(20, 64) == Fraction(comb(6, 3), 64)


def test_samples_are_counted_in_python_integers():
    """Powers of fractions overflow with integers of NumPy."""
    assert success_probability(12, np.int64(64)) == success_probability(12, 64)
    assert expected_error(12, np.int64(64)) == ((1 + balanced_fraction(12)) / 2) ** 64


def test_the_head_has_the_least_norm_and_fits(rng):
    features, targets = downstream_features(random_features(4, 40, rng))
    rows = [0, 3, 7, 12]
    head = minimum_norm_head(features[rows], targets[rows])
    assert features[rows] @ head == pytest.approx(targets[rows])
    assert np.linalg.pinv(features[rows]) @ features[rows] @ head == pytest.approx(head)


def test_features_and_errors_are_those_of_all_strings():
    inputs, targets = downstream_strings(4)
    features, found = downstream_features(transferable(4))
    assert (found == targets).all()
    assert features @ transferable(4).u == pytest.approx(predict(transferable(4), inputs))
    assert population_error(features, targets, np.zeros(2)) == 1
    assert population_error(features, targets, transferable(4).u * [1, 0]) == pytest.approx(0.5)


EXACT = {
    4: Fraction(9, 410),
    6: Fraction(65, 5154),
    8: Fraction(945, 112802),
    10: Fraction(13923, 2294470),
    12: Fraction(34573, 7432730),
}


@pytest.mark.parametrize("T", EXACT)
@pytest.mark.parametrize("mask_sign", ["random", "fixed"])
def test_no_head_on_the_three_neurons_is_right(T, mask_sign):
    """2.2 %, 1.3 %, 0.84 % of the variance, then less, but never nothing; also by least squares in
    floats.
    """
    neurons = three_neurons(T, mask_sign)
    assert best_head_error(neurons) == EXACT[T]
    features, targets = downstream_features(
        neurons.parameters(masked_support(T, mask_sign)[0].sum(1))
    )
    best = np.linalg.lstsq(features, targets.astype(float))[0]
    assert population_error(features, targets, best) == pytest.approx(float(EXACT[T]), rel=1e-10)


def test_neurons_in_too_large_a_number_are_no_trouble():
    """Repeated and dead ones, where the normal equations are singular; and the solution that
    transfers.
    """
    base = transferable_neurons(4)
    more = Neurons(
        np.vstack([base.directions, base.directions, 0 * base.directions]), np.ones(6, dtype=int)
    )
    assert best_head_error(more) == best_head_error(base) == 0
    assert best_head_error(Neurons(base.directions[:1], np.array([1]))) == Fraction(1, 2)


@pytest.mark.parametrize("name", ["random features", "three", "memoriser"])
def test_curves_are_means_of_heads_solved_one_by_one(name):
    z = masked_support(4, "fixed")[0].sum(1)
    parameters = {
        "random features": lambda: random_features(4, 80, np.random.default_rng(0)),
        "three": lambda: three_neurons(4, "fixed").parameters(z),
        "memoriser": lambda: memoriser(4).parameters(z),
    }[name]()
    found = learning_curve(parameters, [3, 12], 50, np.random.default_rng(5))
    features, targets = downstream_features(parameters)
    drawn = np.random.default_rng(5).integers(16, size=(50, 12))
    for i, n in enumerate((3, 12)):
        errors = []
        for rows in drawn[:, :n]:
            errors.append(
                population_error(
                    features, targets, np.linalg.pinv(features[rows], rcond=1e-8) @ targets[rows]
                )
            )
        assert found.error[i] == pytest.approx(np.mean(errors), rel=1e-6)
        assert found.error_stderr[i] == pytest.approx(np.std(errors, ddof=1) / 50**0.5, rel=1e-6)
        assert found.exact[i] == np.mean(np.array(errors) < 1e-12)
        assert found.exact_stderr[i] == pytest.approx(
            (found.exact[i] * (1 - found.exact[i]) / 50) ** 0.5
        )


def test_pooled_curves_spread_over_draws_of_the_features(rng):
    curves = [learning_curve(random_features(4, 40, rng), [2, 8], 20, rng) for _ in range(3)]
    found = pooled(curves)
    assert found.sizes.tolist() == [2, 8]
    errors = np.array([curve.error for curve in curves])
    assert found.error == pytest.approx(errors.mean(0))
    assert found.error_stderr == pytest.approx(errors.std(0, ddof=1) / 3**0.5)
    shares = np.array([curve.exact for curve in curves])
    assert found.exact == pytest.approx(shares.mean(0))
    assert found.exact_stderr == pytest.approx(shares.std(0, ddof=1) / 3**0.5)


def test_what_counts_as_exact_can_be_chosen(rng):
    """Features near those that transfer: every head is wrong by about the square of the
    disturbance.
    """
    base = transferable(4)
    near = uniform_attention(base.W_V + 1e-4 * rng.standard_normal((2, 8)), base.u)
    curves = [
        learning_curve(near, [4], 200, np.random.default_rng(0), no_error=level)
        for level in (1e-12, 1e-5)
    ]
    exact = learning_curve(base, [4], 200, np.random.default_rng(0))
    assert curves[0].exact[0] == 0
    assert curves[1].exact[0] == exact.exact[0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: pooled([learning_curve(transferable(4), [1], 2, np.random.default_rng(0))]),
            "`curves` must hold at least 2 of LearningCurve, got 1",
        ),
        (
            lambda: pooled(
                [learning_curve(transferable(4), [n], 2, np.random.default_rng(0)) for n in (1, 2)]
            ),
            "`curves` must have the same sizes",
        ),
        (
            lambda: downstream_features(uniform_attention(np.ones((1, 6)), np.ones(1))),
            "`T` must be even and at least 2, got 3",
        ),
    ],
)
def test_what_cannot_be_learnt_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()

"""Sums with dropped terms, against all masks one by one."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.adaptation.dropped_deltas import (
    dropped_bound,
    kearns_saul_constant,
    least_error_divisor,
    violation,
    worst_violations,
)

numbers = st.floats(-3, 3).map(lambda x: round(x, 3))
vectors = st.lists(numbers, min_size=1, max_size=7).filter(lambda c: abs(sum(c)) > 0.1)
probabilities = st.floats(0.01, 0.99)


def every_mask(c, p, q):
    """Probability and error of each mask."""
    for mask in product([0, 1], repeat=len(c)):
        probability = prod(1 - p if kept else p for kept in mask)
        yield probability, sum(c) - sum(x * kept for x, kept in zip(c, mask, strict=True)) / q


def mean_square(c, p, q):
    return sum(probability * error**2 for probability, error in every_mask(c, p, q))


@given(c=vectors, p=probabilities, other=st.floats(0.2, 5))
def test_no_other_divisor_has_a_smaller_error(c, p, other):
    ratio = sum(x**2 for x in c) / sum(c) ** 2
    best = least_error_divisor(p, ratio)
    least = mean_square(c, p, best)
    assert least <= mean_square(c, p, best * other) * (1 + 1e-9)
    assert best >= 1 - p
    assert least / mean_square(c, p, 1 - p) == pytest.approx((1 - p) / best, rel=1e-6)


@pytest.mark.parametrize(("p", "phi"), [(0.5, 0.5), (0.5 + 1e-9, 0.5), (0.99, 0.98 / np.log(99))])
def test_the_constant_of_kearns_and_saul(p, phi):
    assert kearns_saul_constant(p) == pytest.approx(phi, rel=1e-6)
    assert kearns_saul_constant(1 - p) == pytest.approx(phi, rel=1e-6)


@given(p=probabilities, t=st.floats(-20, 20))
def test_the_constant_bounds_the_moments_of_a_coin_and_none_below_does(p, t):
    moments = np.array([t, 2 * np.log((1 - p) / p)])  # there is equality at the second
    logs = np.logaddexp(np.log(p) + moments * (1 - p), np.log1p(-p) - moments * p)
    bound = kearns_saul_constant(p) * moments**2 / 4
    assert (logs <= bound + 1e-9).all()
    assert logs[1] == pytest.approx(bound[1], rel=1e-6, abs=1e-12)


@given(c=vectors, p=probabilities, bound=st.floats(0, 30))
def test_violations_are_those_of_all_masks(c, p, bound):
    masks = list(every_mask(c, p, 1 - p))
    near = min(abs(abs(error) - bound) for _, error in masks)
    if near > 1e-9:
        expected = sum(probability for probability, error in masks if abs(error) > bound)
        assert violation(c, p, bound) == pytest.approx(expected, abs=1e-12)


@given(c=vectors, p=probabilities, gamma=st.floats(0.001, 0.5))
def test_the_bound_with_the_root_holds(c, p, gamma):
    assert violation(c, p, dropped_bound(c, p, gamma)) <= gamma


def test_one_term_refutes_the_bound_without_the_root():
    bound = dropped_bound([1.0], 0.99, 0.009, root=False)
    assert bound == pytest.approx(49.6, abs=0.05)
    assert violation([1.0], 0.99, bound) == pytest.approx(0.01)
    assert violation([1.0], 0.99, dropped_bound([1.0], 0.99, 0.009)) == 0


def test_the_worst_violation_is_the_largest_of_all():
    one, more = (worst_violations(n, [0.5, 0.99], [0.2, 0.009], seed=0) for n in ([1], [1, 3]))
    assert one["without root"][1] == pytest.approx(0.01 / 0.009)  # as above
    ones = [violation(np.ones(3), 0.5, dropped_bound(np.ones(3), 0.5, g)) / g for g in (0.2, 0.009)]
    assert max(ones) <= more["with root"][0] <= 1
    assert (more >= one).all(axis=None)


def test_too_many_terms_and_impossible_probabilities_are_named():
    with pytest.raises(ValueError, match="`contributions` must have at most 16 terms"):
        violation(np.ones(17), 0.5, 1.0)
    with pytest.raises(ValueError, match="`p`"):
        least_error_divisor(p=1.0, ratio=0.5)

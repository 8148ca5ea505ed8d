from fractions import Fraction

import numpy as np
import pytest

from ntpcompanion.linear.separability.exact_certificates import (
    exact_certificate,
    exact_embeddings,
    exact_weights,
)
from tests.oracles import refutes, separates

HALF = Fraction(1, 2)


@pytest.mark.parametrize("embeddings", [[[0.5]], [[2.0**53]], [[1.0, np.nextafter(3, 4)]]])
def test_only_integers_that_floats_hold_exactly_are_proved_exactly(embeddings):
    assert exact_embeddings(np.array(embeddings)) is None


def test_integers_come_as_python_integers():
    assert exact_embeddings(np.array([[2.0, -3.0]])) == [[2, -3]]
    assert type(exact_embeddings(np.array([[2.0]]))[0][0]) is int


def test_a_certificate_with_rounding_errors_becomes_the_fractions_behind_it():
    support = np.array([[True, False], [False, True]])
    rough = np.array([[1.0 + 1e-11, -1.0], [-0.5 - 1e-10, 0.5]])
    assert exact_certificate([[1], [2]], support, rough) == (
        (Fraction(1), Fraction(-1)),
        (-HALF, HALF),
    )


def test_entries_that_are_rounding_are_left_out():
    support = np.array([[True, False, False], [False, True, False], [False, False, True]])
    rough = np.array([[1.0, -1.0, -1e-15], [-1.0, 1.0, 1e-16], [-1e-14, 0.0, 1e-14]])
    exact = exact_certificate([[1, 0], [1, 0], [0, 1]], support, rough)
    assert exact[0] == (1, -1, 0)
    assert exact[2] == (0, 0, 0)
    assert refutes([[1, 0], [1, 0], [0, 1]], support.tolist(), exact)


def test_small_entries_that_are_needed_are_kept():
    """With h_2 = 10^5 h_1 the certificate has entries of very different sizes."""
    support = np.array([[True, False], [False, True]])
    exact = exact_certificate([[1], [10**5]], support, np.array([[1.0, -1.0], [-1e-5, 1e-5]]))
    assert refutes([[1], [10**5]], support.tolist(), exact)


def test_no_certificate_is_made_up_for_a_separable_table():
    assert (
        exact_certificate(
            [[1, 0], [0, 1]], np.eye(2, dtype=bool), np.array([[1.0, -1.0], [-1.0, 1.0]])
        )
        is None
    )


def test_a_decoder_with_rounding_errors_gets_exact_ties_and_margins():
    support = np.array([[True, True, False], [False, True, True]])
    rough = np.array([[1.0, 0.0], [1.0 + 1e-12, 1.0], [0.0, 1.0 - 1e-12]])
    exact = exact_weights([[1, 0], [0, 3]], support, rough)
    assert separates([[1, 0], [0, 3]], support.tolist(), exact)
    assert not separates([[1, 0], [0, 3]], support.tolist(), rough.tolist())


def test_no_decoder_is_made_up_for_a_table_that_is_not_separable():
    assert exact_weights([[1], [2]], np.eye(2, dtype=bool), np.array([[1.0], [-1.0]])) is None


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_scale_of_a_decoder_does_not_matter(scale):
    support = np.eye(2, dtype=bool)
    assert (
        exact_weights([[1, 0], [0, 1]], support, scale * np.array([[1.0, -1], [-1, 1]])) is not None
    )


def test_entries_that_the_equations_force_to_zero_do_no_harm():
    support = np.array([[True, False], [False, True], [True, False]])
    guess = np.array([[2.0, -2.0], [-1.0, 1.0], [0.01, -0.01]])
    found = exact_certificate([[1, 0], [2, 0], [0, 1]], support, guess)
    assert found == tuple(
        tuple(Fraction(x) for x in row)
        for row in ([1, -1], [Fraction(-1, 2), Fraction(1, 2)], [0, 0])
    )

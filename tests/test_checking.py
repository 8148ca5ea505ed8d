import jaxtyping
import numpy as np
import pytest
from jaxtyping import Float, TypeCheckError, jaxtyped

import tests
from ntpcompanion.linear.contexts import ContextTable
from tests.checking import CHECKS, MOST

SQUARE = np.eye(2)


@jaxtyped(typechecker=tests.checked)
def rows(array: Float[np.ndarray, "m d"]) -> int:
    return len(array)


def spend():
    """All checks of this test."""
    while CHECKS.made < MOST:
        rows(SQUARE)


def test_the_package_is_checked():
    with pytest.raises(TypeCheckError):
        ContextTable(SQUARE, np.ones((3, 2)), np.full(2, 0.5))


@pytest.mark.parametrize("turn", [1, 2])
def test_the_first_calls_of_each_test_are_checked_and_no_more(turn):
    assert rows(SQUARE) == 2
    with pytest.raises(TypeCheckError):
        rows(np.ones(2))
    spend()
    assert rows(np.ones(3)) == 3


@pytest.fixture(scope="module")
def long():
    spend()


def test_what_a_fixture_has_spent_is_not_missed(long):
    assert rows(SQUARE) == 2
    with pytest.raises(TypeCheckError):
        rows(np.ones(2))


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_test_can_want_none():
    assert rows(np.ones(3)) == 3
    assert jaxtyping.config.jaxtyping_disable


def test_and_the_next_is_checked_again():
    assert not jaxtyping.config.jaxtyping_disable

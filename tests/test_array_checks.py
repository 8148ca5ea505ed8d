import numpy as np
import pytest
from jaxtyping import Float, TypeCheckError, config

from ntpcompanion.linear.svm.dual_problem import dot
from tests import array_checks
from tests.array_checks import Checks


@pytest.fixture
def few(monkeypatch):
    """Checks of three calls in a test; afterwards those of all tests go on."""
    monkeypatch.setattr(array_checks, "CALLS", 3)
    monkeypatch.setattr(config, "jaxtyping_disable", config.jaxtyping_disable)
    return Checks()


def double(x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    return 2 * x


def test_the_package_is_checked():
    with pytest.raises(TypeCheckError, match=r"gram\.dot"):
        dot("no tensor", "either")


def test_the_first_calls_of_each_test_are_checked(few):
    checked = few.checked(double)
    for _ in range(2):
        few.start()
        for left in (2, 1, 0):
            assert config.jaxtyping_disable is False
            with pytest.raises(Exception, match="double"):
                checked(np.ones((2, 2)))
            assert few.left == left
        assert config.jaxtyping_disable is True


def test_what_is_checked_returns_what_it_returns(few):
    few.start()
    assert few.checked(double)(np.ones(2)).tolist() == [2.0, 2.0]

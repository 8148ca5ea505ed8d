import pytest
from jaxtyping import TypeCheckError

from ntpcompanion.linear.svm.dual_problem import dot


def test_the_package_is_checked():
    with pytest.raises(TypeCheckError, match=r"dual_problem\.dot"):
        dot("no tensor", "either")

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from ntpcompanion.networks.size_checks import check_choices, check_whole


@dataclass
class Box:
    colour: Literal["red", "blue"]
    size: Any = 1


def test_choices_are_those_of_the_annotation(unchecked_shapes):
    check_choices(Box("blue"))
    with pytest.raises(ValueError, match="`colour` must be one of red, blue, got 'green'"):
        check_choices(Box("green"))


@pytest.mark.parametrize("size", [0, -1, 1.0, True, "1"])
def test_whole_numbers_are_at_least_one(size):
    check_whole(Box("red"), "size")
    with pytest.raises(
        ValueError, match=f"`size` must be a whole number of at least 1, got {size!r}"
    ):
        check_whole(Box("red", size), "size")

import pytest
from pydantic import BaseModel

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.yaml_files import validate


class Point(BaseModel):
    x: float
    names: list[str] = []


def test_what_fits_is_given_back():
    assert validate({"a": [1, 2.5]}, dict[str, list[float]], "here") == {"a": [1.0, 2.5]}
    assert validate({"p": {"x": 1}}, dict[str, Point], "here") == {"p": Point(x=1.0)}


@pytest.mark.parametrize(
    ("data", "shape", "words"),
    [
        (3, dict[str, int], "here: Input should be a valid dictionary, got 3."),
        (
            {"a": {"x": "1"}},
            dict[str, Point],
            "here: a.x: Input should be a valid number, got '1'.",
        ),
        (
            {"names": [2]},
            Point,
            "here: x: Field required, got {'names': [2]}; names.0: Input should be a valid string, "
            "got 2.",
        ),
        ("x" * 100, int, f"here: Input should be a valid integer, got '{'x' * 59}…."),
    ],
)
def test_every_place_that_does_not_fit_is_named(data, shape, words):
    with pytest.raises(WorkflowError) as caught:
        validate(data, shape, "here")
    assert str(caught.value) == words

from typing import Annotated

import pytest
from pydantic import Field, field_validator

from ntpcompanion.experiments.experiment import Plan, Result
from ntpcompanion.experiments.result_table import table_of


class Throws(Plan):
    draws: Annotated[int, Field(ge=1)]
    bias: Annotated[float, Field(gt=0, lt=1)] = 0.5
    sides: tuple[str, ...] = ("heads", "tails")

    @field_validator("sides")
    @classmethod
    def _two(cls, value):
        if len(value) != 2:
            raise ValueError(f"`sides` must name 2 sides, got {len(value)}.")
        return value


class Share(Result):
    share: float
    runs: tuple[int, ...]


def test_plans_and_results_survive_json():
    plan = Throws.from_json({"draws": 10, "sides": ["a", "b"]})
    assert plan == Throws(draws=10, sides=("a", "b"))
    assert plan.to_json() == {"draws": 10, "bias": 0.5, "sides": ["a", "b"]}
    result = Share(share=0.25, runs=(1, 2))
    assert Share.from_json(result.to_json()) == result


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "`draws` is missing: give it a value."),
        ({"draws": 0}, "`draws` should be greater than or equal to 1, got 0."),
        ({"draws": "3"}, "`draws` should be a valid integer.*got '3'."),
        ({"draws": 1, "bias": float("nan")}, "`bias` should be a finite number, got nan."),
        ({"draws": 1, "draw": 2}, "`draw` is not a field of this plan. Did you mean `draws`?"),
        ({"draws": 1, "x": 2}, "`x` is not a field of this plan. Known: draws, bias, sides."),
        ({"draws": 1, "sides": ["a"]}, "^`sides` must name 2 sides, got 1.$"),
        ({"draws": 0, "bias": 2}, "`draws` should .*`bias` should be less than 1, got 2."),
    ],
)
def test_every_fault_of_a_plan_is_named_with_its_value(values, message):
    with pytest.raises(ValueError, match=message):
        Throws.from_json(values)


class Match(Plan):
    throws: Throws
    rounds: Annotated[int, Field(ge=1)] = 1


@pytest.mark.parametrize(
    ("plan", "values", "message"),
    [
        (Throws, {}, "`draws` is missing: give it a value."),
        (Throws, {"draws": 0, "bias": 2}, "`draws` should .*`bias` should be less than 1, got 2."),
        (Throws, {"draw": 1}, "`draw` is not a field of this plan. Did you mean `draws`?"),
        (Throws, {"draws": 1, "sides": ("a",)}, "^`sides` must name 2 sides, got 1.$"),
        (Match, {"throws": {"draws": 0}}, "^`throws.draws` should .* equal to 1, got 0.$"),
        (Share, {"share": "x", "runs": ()}, "^`share` should be a valid number.*, got 'x'.$"),
    ],
)
def test_the_constructor_says_the_same(plan, values, message):
    with pytest.raises(ValueError, match=message) as caught:
        plan(**values)
    assert "pydantic" not in str(caught.value)


def test_a_plan_in_a_plan_is_read_as_strictly_as_before():
    values = {"throws": {"draws": 3, "bias": 0.5, "sides": ["a", "b"]}, "rounds": 2}
    assert Match.from_json(values) == Match(throws=Throws(draws=3, sides=("a", "b")), rounds=2)
    with pytest.raises(ValueError, match=r"^`throws.draws` should be a valid integer, got '3'.$"):
        Match.from_json({"throws": {"draws": "3"}})


def test_plans_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Throws(draws=1).draws = 2


def test_a_table_has_a_row_for_each_result():
    rows = [Share(share=0.25, runs=(1, 2)), Share(share=0.5, runs=())]
    table = table_of(rows)
    assert table.share.tolist() == [0.25, 0.5]
    assert table.runs.tolist() == [(1, 2), ()]

"""What an API page says of the plan and the result of an experiment."""

import sys
import types
from typing import Annotated

from pydantic import BaseModel, Field

from ntpcompanion.workflow.site.experiment_fields import add_fields


class Plan(BaseModel):
    draws: Annotated[int, Field(ge=1, description="of `rng`, at least |1|")]
    seed: int = 3


class Row(BaseModel):
    mean: float


class Result(BaseModel):
    rows: tuple[Row, ...]

    @property
    def table(self):
        """A row for each
        draw.

        More.
        """

    def at(self, draw: int):
        """One row."""

    def _private(self):
        """Nothing for a page."""


def run(plan):
    """Run."""


def listed(what, name, function):
    lines = ["Run."]
    add_fields(None, what, name, function, None, lines)
    return lines


def test_fields_properties_and_methods_are_listed():
    lines = listed("function", "some.module.run", run)
    assert [line for line in lines if line.strip()] == [
        "Run.",
        ".. dropdown:: Fields of the plan",
        r"   - ``draws``: of ``rng``\, at least \|1\|",
        "   - ``seed``: by default 3",
        ".. dropdown:: What the result offers",
        "   - ``rows``: of each ``mean``",
        "   - ``at(draw)``: One row.",
        "   - ``table``: A row for each draw.",
    ]


def test_other_functions_and_modules_are_left_alone(monkeypatch):
    assert listed("function", "some.module.walk", run) == ["Run."]
    assert listed("class", "some.module.run", run) == ["Run."]
    bare = types.ModuleType("bare")
    monkeypatch.setitem(sys.modules, "bare", bare)
    other = types.FunctionType(run.__code__, {})
    other.__module__ = "bare"
    assert listed("function", "bare.run", other) == ["Run."]

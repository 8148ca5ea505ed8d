"""What an API page says of the plan and the result of an experiment."""

from typing import Annotated, Literal

import pandas as pd
from pydantic import BaseModel, Field

from ntpcompanion.workflow.site.experiment_fields import add_fields


class Plan(BaseModel):
    """Draws.

    `sizes` rise.
    """

    draws: Annotated[int, Field(ge=1, description="of `rng`, at least |1|")]
    seed: int = 3
    sizes: tuple[Annotated[int, Field(ge=1, lt=9)], ...] | None = None
    way: Literal["a", "b"]


class Row(BaseModel):
    mean: float

    @property
    def error(self) -> float:
        """Standard error."""


class Result(BaseModel):
    """Means."""

    rows: tuple[Row, ...]

    @property
    def table(self):
        """A row for each
        draw.

        More.
        """

    def at(self, draw: int) -> pd.DataFrame:
        """One row."""

    def _private(self):
        """Nothing for a page."""


def run(plan):
    """Run."""


def listed(what, name, function):
    lines = ["Run."]
    add_fields(None, what, name, function, None, lines)
    return lines


def test_fields_properties_methods_and_parts_are_listed():
    lines = listed("function", "some.module.run", run)
    assert [line for line in lines if line.strip()] == [
        "Run.",
        ".. dropdown:: Fields of the plan",
        "   Draws. ``sizes`` rise.",
        r"   - ``draws: int >= 1``: of ``rng``\, at least \|1\|",
        "   - ``seed: int``: by default 3",
        "   - ``sizes: tuple[int, ...] | None``: by default None",
        "   - ``way: Literal['a', 'b']``: ",
        ".. dropdown:: What the result offers",
        "   Means.",
        "   - ``rows: tuple[Row, ...]``: ",
        "   - ``at(draw): DataFrame``: One row.",
        "   - ``table``: A row for each draw.",
        r"   - ``Row``: mean\: float\, error\: float \(Standard error\)",
    ]

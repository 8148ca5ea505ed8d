"""Grids: every combination of some values."""

import itertools
from collections.abc import Mapping


def grid_tasks(fixed: Mapping, grid: Mapping[str, list]) -> list[dict]:
    """Every combination of the grid's values, with the fixed ones: one task each, in the order of
    the grid.
    """
    return [
        {**fixed, **dict(zip(grid, values, strict=True))}
        for values in itertools.product(*grid.values())
    ]

"""Checks of what is handed over to be drawn: a figure that cannot be drawn is rejected in a
sentence before anything of it is drawn.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like
from matplotlib.markers import MarkerStyle

from ntpcompanion.validation import (
    argument_check,
    as_array,
    as_integer,
    as_shaped,
    check_instance,
    described,
)


@argument_check
def check_axes(ax: object) -> None:
    """ValueError unless `ax` are axes of matplotlib."""
    if not isinstance(ax, Axes):
        raise ValueError(
            f"`ax` must be the Axes of matplotlib to draw in, got {described(ax)}. Take one from "
            "plots.figure() or pyplot.subplots()."
        )


def check_series(**series: object) -> None:
    """ValueError unless all are vectors of numbers of one positive length. NaN leaves a gap in a
    line, and is allowed.
    """
    lengths = {name: as_array(name, values).shape for name, values in series.items()}
    first, shape = next(iter(lengths.items()))
    for name, other in lengths.items():
        if len(other) != 1 or other == (0,):
            raise ValueError(f"`{name}` must be a vector of numbers, got shape {other}.")
        if other != shape:
            raise ValueError(
                f"`{name}` must have a number for each of the {shape[0]} of `{first}`, got "
                f"{other[0]}."
            )


def check_frame(name: str, frame: Any, *columns: str) -> None:
    """ValueError unless it is a data frame with rows and with these columns."""
    check_instance(name, frame, pd.DataFrame)
    for column in columns:
        if column not in frame:
            known = ", ".join(map(repr, frame.columns)) or "no columns"
            raise ValueError(f"`{name}` has no column {column!r}. It has {known}.")
    if frame.empty:
        raise ValueError(f"`{name}` must have at least one row, got none.")


def check_numbers(name: str, frame: pd.DataFrame, *columns: str) -> None:
    """ValueError unless these columns of a data frame hold numbers."""
    for column in columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            raise ValueError(
                f"`{name}` must hold numbers in its column {column!r}, got {frame[column].dtype}."
            )


def as_pair(name: str, value: object) -> tuple[float, float]:
    """`value` as two finite numbers. ValueError for anything else."""
    first, second = as_shaped(name, value, (2,)).tolist()
    return first, second


@argument_check
def check_point(name: str, index: object, number: int) -> None:
    """ValueError unless `index` counts one of so many points, from 0 or, negative, from the end."""
    as_integer(name, index, -number, number - 1, f"(a line of {number} points)")


def check_look(colour: object, marker: Any) -> None:
    """ValueError unless matplotlib knows such a colour and such a marker."""
    if not is_color_like(colour):
        raise ValueError(
            f"`colour` must be a colour of matplotlib, such as 'red' or '#0173b2', got "
            f"{described(colour)}."
        )
    try:
        MarkerStyle(marker)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`marker` must be a marker of matplotlib, such as 'o' or 's', got {described(marker)}."
        ) from error


def as_limits(name: str, value: object) -> np.ndarray:
    """`value` as the ends of both axes: left < right, bottom < top. ValueError otherwise."""
    ends = as_shaped(name, value, (4,), "left, right, bottom, top")
    if ends[0] >= ends[1] or ends[2] >= ends[3]:
        raise ValueError(
            f"`{name}` must be left < right, bottom < top, got {tuple(ends.tolist())}."
        )
    return ends

"""What figures take: the annotations that several of them share, and the check of a table."""

from collections.abc import Collection, Hashable
from typing import Annotated

import pandas as pd
from matplotlib.colors import is_color_like
from matplotlib.markers import MarkerStyle
from numpy.typing import ArrayLike

from ntpcompanion.checks import Is, Shape

# of one length; NaN leaves a gap in a line
Series = Annotated[ArrayLike, Shape("n", gaps=True)]
Colour = Annotated[str, Is(is_color_like, "be a colour of matplotlib, such as 'red' or '#0173b2'")]
Marker = Annotated[
    str,
    Is(
        lambda marker: marker in MarkerStyle.markers,
        "be a marker of matplotlib, such as 'o' or 's'",
    ),
]


def check_columns(name: str, frame: pd.DataFrame) -> None:
    """ValueError if two columns of a data frame have one name."""
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"`{name}` must have no two columns of one name, got {twice!r} twice.")


def check_frame(
    name: str,
    frame: pd.DataFrame,
    numbers: Collection[Hashable],
    others: Collection[Hashable] = (),
) -> None:
    """ValueError unless a data frame has rows, columns of `numbers` and others, and none twice."""
    check_columns(name, frame)
    for column in (*others, *numbers):
        if column not in frame:
            known = ", ".join(map(repr, frame.columns)) or "no columns"
            raise ValueError(f"`{name}` has no column {column!r}. It has {known}.")
    if frame.empty:
        raise ValueError(f"`{name}` must have at least one row, got none.")
    for column in numbers:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            raise ValueError(
                f"`{name}` must hold numbers in its column {column!r}, got {frame[column].dtype}."
            )

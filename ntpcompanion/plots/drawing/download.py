"""The data of a figure as a file that the page itself carries."""

import base64
from dataclasses import dataclass
from html import escape
from typing import Annotated

import pandas as pd

from ntpcompanion.checks import Is, checked


@dataclass(frozen=True, eq=False)
class CsvLink:
    """The data of a figure as a download that is part of the page: `filename` holds `frame` as CSV
    with full digits.
    """

    frame: pd.DataFrame
    filename: str

    def __repr__(self) -> str:
        return f"{self.filename}: data as CSV ({len(self.frame)} rows)"

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.frame.to_csv(index=False).encode()).decode()
        name = escape(self.filename, quote=True)
        text = f"data as CSV ({len(self.frame)} rows)"
        return f'<a class="csv" download="{name}" href="data:text/csv;base64,{data}">{text}</a>'


@checked
def csv_link(
    frame: pd.DataFrame,
    filename: Annotated[
        str,
        Is(
            lambda name: name.endswith(".csv") and not {"/", "\\"} & set(name),
            "end in .csv and name no folder",
        ),
    ],
) -> CsvLink:
    """A link that saves the data of a figure, for the last line of a notebook's cell.

    Parameters
    ----------
    frame
        the data.
    filename
        under which a browser saves them.

    Returns
    -------
    CsvLink
        what a notebook shows as the link.

    Raises
    ------
    ValueError
        `frame` is not a data frame, or `filename` no name of a file that ends in .csv.
    """
    return CsvLink(frame, filename)

"""Rows of a result as a table. Apart from what every experiment consists of, as pandas is slow to
import.
"""

from collections.abc import Iterable

import pandas as pd
from pydantic import BaseModel


def table_of(rows: Iterable[BaseModel]) -> pd.DataFrame:
    """A row for each result, a column for each of its fields. What is None is missing.

    Parameters
    ----------
    rows
        results of one kind.

    Returns
    -------
    pd.DataFrame
        the table, in the order of `rows`.

    Examples
    --------
    >>> from pydantic import BaseModel
    >>> from ntpcompanion.experiments import table_of
    >>> class Fit(BaseModel):
    ...     width: int
    ...     loss: float | None = None
    >>> table_of([Fit(width=2, loss=0.5), Fit(width=4)]).loss.tolist()
    [0.5, nan]
    """
    return pd.DataFrame([vars(row) for row in rows])

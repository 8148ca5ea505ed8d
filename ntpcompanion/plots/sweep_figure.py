"""The table of a sweep as one figure: a measured number against a parameter that was varied."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes


def plot_sweep(
    table: pd.DataFrame,
    x: str,
    y: str = "value",
    *,
    claim: str | None = None,
    by: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean of a column of a sweep against a parameter, with its standard error over runs.

    Parameters
    ----------
    table
        what `ntpcompanion.workflow.sweeps.sweep.sweep` returns, or its Parquet file read by
        pandas.
    x
        the parameter on the horizontal axis, a column of numbers or texts.
    y
        the column that is averaged over all runs that agree in `x` and `by`, such as those of
        several seeds.
    claim
        the id of the claim to draw; required where the table holds several.
    by
        a parameter with a line for each of its values.
    ax
        where to draw; None: axes of a new figure.

    Returns
    -------
    Axes
        With an error bar where at least two runs were averaged. A note says how many runs did not
        end well: they are not drawn.

    Raises
    ------
    ValueError
        a column or claim that the table does not have, or several claims of which none is named.

    Examples
    --------
    >>> import pandas as pd
    >>> from ntpcompanion.plots.sweep_figure import plot_sweep
    >>> runs = {"rate": [0.1, 0.1, 0.5], "state": ["done"] * 3, "run": range(3)}
    >>> axes = plot_sweep(pd.DataFrame({**runs, "loss": [1.0, 1.2, 0.8]}), "rate", "loss")
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('rate', 'loss')
    """
    _require_columns(table, x, y, by)
    lost = table.loc[table["state"] != "done", "run"].nunique()
    drawn = _of_claim(table[table["state"] == "done"], claim)
    axes = plt.subplots()[1] if ax is None else ax
    groups = drawn.groupby(by) if by else [("", drawn)]
    for name, group in groups:
        found = group.groupby(x)[y].agg(["mean", "sem"])
        label = f"{by} = {name}" if by else None
        error = np.nan_to_num(found["sem"].to_numpy(dtype=float))
        axes.errorbar(found.index, found["mean"], error, marker="o", label=label)
    axes.set(xlabel=x, ylabel=claim or y)
    if by:
        axes.legend()
    if lost:
        text = f"{lost} of {table['run'].nunique()} runs did not end well"
        axes.annotate(text, (0.02, 0.02), xycoords="axes fraction", fontsize="small")
    return axes


def _require_columns(table: pd.DataFrame, *names: str | None) -> None:
    if missing := [name for name in names if name is not None and name not in table]:
        raise ValueError(
            f"The table has no column {missing[0]!r}. It has {', '.join(map(str, table.columns))}."
        )


def _of_claim(table: pd.DataFrame, claim: str | None) -> pd.DataFrame:
    if "claim" not in table:
        return table
    known = list(table["claim"].dropna().unique())
    if claim is None and len(known) > 1:
        raise ValueError(f"`claim` must name one of the claims of the table: {', '.join(known)}.")
    if claim is not None and claim not in known:
        raise ValueError(f"`claim` must be one of {', '.join(known)}, got {claim!r}.")
    return table[table["claim"] == (claim or known[0])] if known else table

"""A table for readers: as many digits as a number deserves, words for what is not a number."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import floor, isfinite, log10
from numbers import Integral, Real

import numpy as np
import pandas as pd

from ntpcompanion.checks import Size, checked
from ntpcompanion.plots.drawing.plot_arguments import check_columns, check_frame

MINUS, MISSING = "\u2212", "\u2013"


@dataclass(frozen=True, eq=False)
class ShownTable:
    """A table that a notebook shows as HTML: `frame` with numbers of `digits` significant digits,
    beside them the standard errors that `errors` names.
    """

    frame: pd.DataFrame
    digits: int = 3
    errors: Mapping[Hashable, Hashable] = field(default_factory=dict)

    def texts(self) -> pd.DataFrame:
        """The cells as they are shown; columns of errors stand beside their values."""
        beside = set(self.errors.values())
        columns = [name for name in self.frame.columns if name not in beside]
        return pd.DataFrame(
            {name: self._column(name) for name in columns}, index=self.frame.index, dtype=object
        )

    def _column(self, name: Hashable) -> list[str]:
        values = self.frame[name].tolist()
        if name in self.errors:
            pairs = zip(values, self.frame[self.errors[name]].tolist(), strict=True)
            return [with_error(value, error, self.digits) for value, error in pairs]
        return [in_words(value, self.digits) for value in values]

    def __repr__(self) -> str:
        hidden = isinstance(self.frame.index, pd.RangeIndex)
        return self.texts().to_string(index=not hidden)

    def _repr_html_(self) -> str:
        texts, index = self.texts(), self.frame.index
        named = [] if isinstance(index, pd.RangeIndex) else range(index.nlevels)
        names = [_head(name) if isinstance(name, str | tuple) else "" for name in index.names]
        numbers = [False] * len(named) + [_is_number(self.frame[name]) for name in texts]
        heads = [*(names if named else []), *map(_head, texts)]
        top = "".join(
            f'<th scope="col"{_side(number)}>{escape(head)}</th>'
            for head, number in zip(heads, numbers, strict=True)
        )
        rows = []
        for label, row in zip(index, texts.itertuples(index=False), strict=True):
            labels = (label if isinstance(label, tuple) else (label,)) if named else ()
            cells = [f'<th scope="row">{escape(in_words(x, self.digits))}</th>' for x in labels]
            cells += [
                f"<td{_side(number)}>{escape(text)}</td>"
                for text, number in zip(row, numbers[len(named) :], strict=True)
            ]
            rows.append(f"<tr>{''.join(cells)}</tr>")
        body = f"<thead><tr>{top}</tr></thead><tbody>{''.join(rows)}</tbody>"
        return f'<div class="ntp-scroll" tabindex="0"><table class="ntp-table">{body}</table></div>'


@checked
def show_table(
    frame: pd.DataFrame,
    digits: Size = 3,
    errors: Mapping[Hashable, Hashable] | None = None,
    *,
    by: Sequence[str] = (),
) -> ShownTable:
    """A table for readers, for the last line of a notebook's cell.

    Numbers have three significant digits, or as many as their standard error allows ("0.573 ±
    0.011"); those of a column of integers have all of theirs. Truth is yes or no, a missing value a
    dash. There is one row of heads, and a RangeIndex is not shown: name columns in words, with
    units.

    Parameters
    ----------
    frame
        the table.
    digits
        significant digits of a number without standard error, at least 1.
    errors
        for a column of values the column of their standard errors, which is shown beside the value
        instead of on its own.
    by
        columns whose values name groups of rows: a group is shown as one row, the means of all
        other columns with their standard errors.

    Returns
    -------
    ShownTable
        what a notebook shows as the table.

    Raises
    ------
    ValueError
        `frame` is not a data frame, or has two columns of one name; `digits` below 1; a column that
        `errors` or `by` names and the table does not have; with `by`, no rows, or another column
        that does not hold numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from ntpcompanion.plots import show_table
    >>> runs = {"loss (nats)": [0.57301, 2.0], "se": [0.0111, None], "ok": [True, False]}
    >>> show_table(pd.DataFrame(runs), errors={"loss (nats)": "se"})
      loss (nats)  ok
    0.573 ± 0.011 yes
             2.00  no
    """
    check_columns("frame", frame)
    if by:
        check_frame("frame", frame, [name for name in frame if name not in by], by)
        groups = frame.groupby([*by], sort=False, dropna=False)
        means, suffix = groups.mean(), " (error)"
        frame = means.join(groups.sem().add_suffix(suffix)).reset_index()
        errors = {name: f"{name}{suffix}" for name in means}
    errors = dict(errors or {})
    for name in [*errors, *errors.values()]:
        if name not in frame.columns:
            known = ", ".join(map(repr, frame.columns))
            raise ValueError(f"`errors` names the column {name!r}; the table has {known}.")
    return ShownTable(frame, digits, errors)


def in_words(value: object, digits: int) -> str:
    """A cell without error: a number of so many significant digits, yes or no, text as it is."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return (
            f"{int(value):,}".replace("-", MINUS) if abs(int(value)) >= 10_000 else _signed(value)
        )
    if isinstance(value, Real):
        return _number(float(value), digits)
    return MISSING if value is None or value is pd.NA or value is pd.NaT else str(value)


def with_error(value: float, error: float, digits: int) -> str:
    """A value beside its standard error, which has two significant digits; the value ends where
    it does.
    """
    if not _finite(error) or not _finite(value) or error <= 0:
        return in_words(value, digits)
    decimals = 1 - int(f"{error:.1e}"[4:])  # 0.0996 is rounded up to 0.10
    if decimals > 6 or decimals < -3:
        largest = max(abs(value), error)
        rounded = f"{largest:.{max(0, decimals + floor(log10(largest)))}e}"
        power = int(rounded.partition("e")[2])
        shown = decimals + power
        scaled = f"{value / 10.0**power:.{shown}f} ± {error / 10.0**power:.{shown}f}"
        return f"({scaled.replace('-', MINUS)}) × {_power(power)}"
    shown = max(decimals, 0)
    return f"{value:.{shown}f} ± {error:.{shown}f}".replace("-", MINUS)


def _number(value: float, digits: int) -> str:
    if not isfinite(value):
        return MISSING if value != value else ("∞" if value > 0 else f"{MINUS}∞")
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    power = int(exponent)
    if -4 <= power < 5:
        return f"{value:.{max(digits - 1 - power, 0)}f}".replace("-", MINUS)
    return f"{mantissa} × {_power(power)}".replace("-", MINUS)


def _power(power: int) -> str:
    return "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _signed(value: object) -> str:
    return str(value).replace("-", MINUS)


def _finite(value: object) -> bool:
    return isinstance(value, Real) and isfinite(float(value))


def _is_number(column: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column))


def _side(number: bool) -> str:
    return ' class="ntp-number"' if number else ""


def _head(name: Hashable) -> str:
    """Heads of several rows as one: ("excess", "Adam") is "excess, Adam"."""
    parts = name if isinstance(name, tuple) else (name,)
    return ", ".join(str(part) for part in parts if str(part))

"""Tables as MyST."""

from collections.abc import Iterable, Sequence


def list_table(rows: Iterable[Sequence[str]], widths: Sequence[int] = ()) -> str:
    """A table whose first row is its head; each cell is one piece of MyST, of which further lines
    are indented by four spaces.

    Parameters
    ----------
    rows
        cells of each row, the head first.
    widths
        relative widths of the columns; by default as the text asks for.

    Returns
    -------
    str
        a directive of lists.
    """
    lines = [":::{list-table}", ":header-rows: 1"]
    if widths:
        lines.append(f":widths: {' '.join(map(str, widths))}")
    lines.append("")
    for row in rows:
        lines += [f"{'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(row)]
    return "\n".join([*lines, ":::"])

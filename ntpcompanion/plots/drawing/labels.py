"""Text beside lines, instead of a legend, and how a token of a text is written."""

from typing import Annotated

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ntpcompanion.checks import Range, checked

# white space is seen, and a dollar begins no formula
_SIGNS = str.maketrans({" ": "␣", "\n": "¶", "\t": "→", "$": r"\$"})


@checked
def label_line(
    ax: Axes,
    line: Line2D,
    text: str,
    *,
    index: Annotated[
        int, Range("-len(line.get_xdata())", "len(line.get_xdata()) - 1", "(the points of `line`)")
    ] = -1,
    offset: tuple[float, float] = (5.0, 0.0),
) -> None:
    """Write a label beside a line, in the line's colour.

    Parameters
    ----------
    ax
        the panel of the line.
    line
        what is labelled.
    text
        the label.
    index
        the index of the line's point beside which it stands.
    offset
        from this point to the text, in points (1/72 inch): to the right, and up.
    """
    x, y = np.asarray(line.get_xydata())[index]
    side = "left" if offset[0] > 0 else "right" if offset[0] < 0 else "center"
    ax.annotate(
        text,
        (x, y),
        xytext=offset,
        textcoords="offset points",
        color=line.get_color(),
        ha=side,
        va="center",
        annotation_clip=False,
    )


def visible(token: str) -> str:
    """The token with signs in place of its white space, and without a formula in it.

    Examples
    --------
    >>> from ntpcompanion.plots.drawing.labels import visible
    >>> visible("word"), visible(" ")
    ('word', '␣')
    """
    return token.translate(_SIGNS)

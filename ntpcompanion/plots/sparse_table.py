"""From text to table: a passage with one of its contexts, and sparse rows of the table."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from ntpcompanion.languages.text.counting import ContextCounts
from ntpcompanion.languages.text.passages import passage_with_repeat
from ntpcompanion.languages.text.words import Encoding
from ntpcompanion.plots.drawing.labels import visible
from ntpcompanion.plots.drawing.style import IN_SUPPORT, THEORY

_LINE = 17.0  # points from one line of the passage to the next
_SPACE = 4.0  # points between two words
_EDGE = 3.0  # points from the edge of the figure
_SHOWN, _ROWS = 58, 10  # words of a passage, and rows
_AROUND = 2.5  # points that the frame of a context needs on each side


def draw_text_table(passage: Axes, table: Axes, counts: ContextCounts, encoding: Encoding) -> None:
    """A passage of a text in which one context occurs twice, and the rows of its first contexts.

    Parameters
    ----------
    passage, table
        where to draw both.
    counts
        the contexts of one length.
    encoding
        of the text.
    """
    size = min(_SHOWN, counts.context_of.size + counts.length)
    place = passage_with_repeat(counts, encoding.tokens, size)
    rows = place.contexts[:_ROWS].tolist()
    spelled = np.array([visible(token) for token in encoding.vocabulary])
    names = spelled[counts.contexts[rows]].tolist()
    draw_passage(passage, spelled[encoding.tokens[place.start :][:size]].tolist(), names[0])
    draw_sparse_rows(table, counts, rows, [" ".join(each) for each in names])


def draw_passage(
    ax: Axes, words: Sequence[str], context: Sequence[str], *, width: float = 185.0
) -> Axes:
    """A passage as running text in lines of `width` points: each occurrence of a context framed,
    and the word after it in the colour of the tokens that can follow.

    It begins at the left edge of the figure, so `ax` must be its first panel, whose axes are
    hidden.
    """
    x, line = 0.0, 0
    for text, role in _pieces(list(words), list(context)):
        frame = _AROUND if role == "context" else 0.0
        weight = "semibold" if role == "next" else "normal"
        length = _width(text, weight) + 2 * frame
        if x > 0 and x + length > width:
            x, line = 0.0, line + 1
        written = ax.annotate(
            text,
            (0, 1),
            # from the edge of the figure: panels below each other begin where the widest labels end
            xycoords=("figure fraction", "axes fraction"),
            xytext=(_EDGE + x + frame, -_LINE * (line + 1)),
            textcoords="offset points",
            va="baseline",
            color=IN_SUPPORT if role == "next" else THEORY,
            weight=weight,
            bbox={"boxstyle": "square,pad=0.2", "fc": "none", "ec": THEORY, "lw": 0.8}
            if role == "context"
            else None,
        )
        written.set_in_layout(False)
        x += length + _SPACE
    ax.set_axis_off()
    return ax


def _pieces(words: list[str], context: list[str]) -> list[tuple[str, str]]:
    """The passage in pieces that are written with one look: words, contexts, next words."""
    pieces, k, after = [], 0, False
    while k < len(words):
        matches = words[k : k + len(context)] == context
        taken = len(context) if matches else 1
        role = "context" if matches else "next" if after else "word"
        pieces.append((" ".join(words[k : k + taken]), role))
        k, after = k + taken, matches
    return pieces


def _width(text: str, weight: str) -> float:
    """In points, with the font of the figure."""
    font = FontProperties(weight=weight)
    return float(TextPath((0, 0), text, size=font.get_size_in_points(), prop=font).get_extents().x1)


def draw_sparse_rows(
    ax: Axes, counts: ContextCounts, rows: Sequence[int], labels: Sequence[str]
) -> Axes:
    """Rows of the table of contexts, from top to bottom: a mark at every token that follows the
    context, on a line that is as long as the vocabulary, and at its end the number of marks.
    """
    table, V = counts.counts, counts.counts.shape[1]
    heights = -np.arange(len(rows))
    ax.hlines(heights, 0, V, color=THEORY, linewidth=0.5)
    for y, row in zip(heights, rows, strict=True):
        support = np.sort(table.indices[table.indptr[row] : table.indptr[row + 1]])
        ax.vlines(support, y - 0.3, y + 0.3, color=IN_SUPPORT, linewidth=1.2)
        ax.text(1.04 * V, float(y), f"{support.size}", ha="left", va="center")
    ax.text(1.04 * V, 0.9, "$S_j$", ha="left", va="center")
    ax.set(
        xlim=(-2, V + 2),
        ylim=(heights[-1] - 0.7, 0.7),
        xlabel="token $z$, frequent to rare",
        yticks=heights,
        yticklabels=labels,
    )
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", width=0.8)
    return ax

from itertools import pairwise

import numpy as np
import pytest

from ntpcompanion import plots
from ntpcompanion.languages import count_contexts, encode
from ntpcompanion.plots.drawing.style import IN_SUPPORT, THEORY
from ntpcompanion.plots.sparse_table import draw_passage, draw_sparse_rows, draw_text_table


def test_a_passage_frames_each_occurrence_of_its_context_and_marks_the_next_word(ax):
    words = "is it so or is it not".split()
    draw_passage(ax, words, ["is", "it"])
    texts = [(text.get_text(), text.get_color()) for text in ax.texts]
    assert texts == [
        ("is it", THEORY),
        ("so", IN_SUPPORT),
        ("or", THEORY),
        ("is it", THEORY),
        ("not", IN_SUPPORT),
    ]
    framed = [text.get_text() for text in ax.texts if text.get_bbox_patch()]
    assert framed == ["is it", "is it"]


@pytest.mark.parametrize("width", [90.0, 150.0])
def test_no_line_of_a_passage_is_longer_than_its_width_and_no_words_overlap(ax, width):
    draw_passage(ax, ["seven", "letters"] * 9, ["letters", "seven"], width=width)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    points = 72 / ax.figure.dpi
    assert all(0 <= box.x0 * points and box.x1 * points <= width + 4 for box in boxes)
    for before, after in pairwise(boxes):
        assert after.x0 > before.x1 or after.y1 < before.y0


def test_a_sparse_row_has_a_mark_at_each_successor_and_their_number(ax):
    tokens = np.array([0, 1, 0, 2, 0, 1, 2, 3])
    (counts,) = count_contexts(tokens, 5, [1])
    draw_sparse_rows(ax, counts, [1, 0], ["b", "a"])
    lines, *marks = ax.collections
    assert [segment[:, 0].tolist() for segment in lines.get_segments()] == [[0, 5], [0, 5]]
    drawn = [[segment[0, 0] for segment in row.get_segments()] for row in marks]
    assert drawn == [[0, 2], [1, 2]], "b is followed by a and c, a by b and c"
    assert [row.get_segments()[0].mean(axis=0)[1] for row in marks] == [0, -1]
    assert [text.get_text() for text in ax.texts] == ["2", "2", "$S_j$"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "a"]


def test_a_passage_stands_beside_the_rows_of_its_contexts():
    encoding = encode("is it so or is it not so".split(), 6)
    _, (passage, table) = plots.figure(2)
    draw_text_table(passage, table, count_contexts(encoding.tokens, 6, [2])[0], encoding)
    assert [text.get_text() for text in passage.texts if text.get_bbox_patch()] == ["is it"] * 2
    assert table.get_yticklabels()[0].get_text() == "is it"

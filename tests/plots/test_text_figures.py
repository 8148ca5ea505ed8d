import numpy as np
import pytest

from ntpcompanion import plots
from ntpcompanion.languages import count_contexts
from ntpcompanion.plots.text_figures import survival, survival_table
from tests.plots.conftest import LENGTHS


def test_survival_is_the_share_of_entries_at_least_as_large():
    values, share = survival(np.array([3, 1, 1, 7]))
    assert (values.tolist(), share.tolist()) == ([1, 3, 7], [1, 0.5, 0.25])


def test_support_sizes_are_drawn_for_each_length(ax, counts):
    plots.draw_support_sizes(ax, counts)
    for line, count in zip(ax.lines, counts, strict=True):
        for s, share in line.get_xydata():
            assert share == pytest.approx((count.support_sizes >= s).mean())
    assert [text.get_text() for text in ax.texts] == ["$t = 0$", "$t = 1$", "$t = 2$", "$t = 3$"]


def test_one_hot_shares_are_drawn_by_context_and_by_position(ax, counts):
    plots.draw_one_hot(ax, counts)
    for line, by_frequency in zip(ax.lines, (False, True), strict=True):
        assert line.get_xydata().tolist() == [
            [c.length, c.share_one_hot(by_frequency=by_frequency)] for c in counts
        ]


def test_numbers_of_contexts_are_drawn_below_the_number_of_positions(ax, counts):
    plots.draw_num_contexts(ax, counts)
    bound, measured = ax.lines
    assert bound.get_xydata()[:, 1].tolist() == [197] * 4
    assert measured.get_xydata().tolist() == [[c.length, c.num_contexts] for c in counts]


def test_the_floor_is_drawn_beside_the_unigram_and_bigram_losses(ax, counts):
    plots.draw_floor(ax, counts)
    unigram, bigram, floor = ax.lines
    assert floor.get_xydata().tolist() == [[c.length, c.entropy] for c in counts]
    assert unigram.get_xydata().tolist() == [[t, counts[0].entropy] for t in LENGTHS]
    assert bigram.get_xydata().tolist() == [[t, counts[1].entropy] for t in LENGTHS[1:]]


def test_data_of_supports_have_a_row_for_each_length_and_number():
    counts = count_contexts(np.array([0, 1, 0, 2, 0, 1]), 3, [0, 1])
    table = survival_table(counts).set_index(["t", "s"])
    assert table.index.tolist() == [(0, 3), (1, 1), (1, 2)]
    assert table.iloc[:, 0].tolist() == pytest.approx([1, 1, 1 / 3])  # a alone is followed by two
    assert table["one-hot, of contexts"].tolist() == pytest.approx([0, 2 / 3, 2 / 3])
    assert table["one-hot, of positions"].tolist() == pytest.approx([0, 2 / 5, 2 / 5])

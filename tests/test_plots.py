import base64
import io

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("agg")

from ntpcompanion import plots
from ntpcompanion.languages.counting import count_contexts

LENGTHS = [0, 1, 2, 3]


@pytest.fixture(autouse=True)
def style():
    with mpl.rc_context():
        plots.use_style()
        yield
        mpl.pyplot.close("all")


@pytest.fixture
def counts(rng):
    return count_contexts(rng.integers(0, 4, 200), 4, LENGTHS)


@pytest.fixture
def ax():
    return plots.figure()[1][0]


def luminance(colour):
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in mpl.colors.to_rgb(colour)
    ]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


MEANINGS = ["IN_SUPPORT", "OUT_OF_SUPPORT", "MEASUREMENT", "PAPER", "CONTRAST", "THEORY"]


def test_each_meaning_has_a_colour_of_its_own():
    assert len({getattr(plots, name) for name in MEANINGS}) == len(MEANINGS)


@pytest.mark.parametrize("page", ["white", "#121212"])
def test_ink_and_colours_read_on_light_and_dark_pages(page):
    assert contrast(plots.INK, page) > 4
    assert all(contrast(getattr(plots, name), page) > 2.3 for name in MEANINGS)


def test_figures_are_page_wide_transparent_and_equal_byte_for_byte(counts):
    def drawn():
        fig, (left, right) = plots.figure(2, height=2.0)
        plots.draw_num_contexts(left, counts)
        plots.draw_floor(right, counts)
        file = io.BytesIO()
        fig.savefig(file, format="svg", metadata={"Date": None})
        return fig, file.getvalue()

    (fig, one), (_, other) = drawn(), drawn()
    assert one == other
    assert tuple(fig.get_size_inches()) == (6.5, 2)
    assert fig.get_facecolor()[3] == 0


def test_in_a_notebook_figures_become_svg(monkeypatch):
    asked = []
    monkeypatch.setattr(plots, "get_ipython", lambda: object())
    monkeypatch.setattr(
        plots,
        "set_matplotlib_formats",
        lambda *formats, **options: asked.append((formats, options)),
    )
    plots.use_style()
    assert asked == [(("svg",), {"bbox_inches": None, "metadata": {"Date": None}})]


def test_the_csv_link_holds_the_data_with_all_digits():
    frame = pd.DataFrame({"t": [1, 2], "loss, nats": [0.1 + 0.2, 1e-17]})
    link = plots.csv_link(frame, "loss.csv")
    html = link._repr_html_()
    data = html.split("base64,")[1].split('"')[0]
    read = pd.read_csv(io.StringIO(base64.b64decode(data).decode()), dtype=str).astype(frame.dtypes)
    pd.testing.assert_frame_equal(read, frame, check_exact=True)
    assert html.startswith('<a class="csv" download="loss.csv" href="data:text/csv')
    assert html.endswith(">data as CSV (2 rows)</a>")
    assert repr(link) == "loss.csv: data as CSV (2 rows)"


def test_a_csv_link_needs_a_csv_name():
    with pytest.raises(ValueError, match=r"`filename` must end in .csv, got 'loss'"):
        plots.csv_link(pd.DataFrame(), "loss")


@pytest.mark.parametrize(
    ("offset", "side"), [((5.0, 0.0), "left"), ((-5.0, 0.0), "right"), ((0.0, 5.0), "center")]
)
def test_a_label_stands_beside_its_point_in_the_colour_of_the_line(ax, offset, side):
    line = plots.draw_measured(ax, [1, 2, 3], [4, 5, 6])
    plots.label_line(ax, line, "here", at=1, offset=offset)
    (label,) = ax.texts
    assert (label.get_text(), label.xy, label.get_color(), label.get_ha()) == (
        "here",
        (2, 5),
        plots.MEASUREMENT,
        side,
    )


def test_theory_is_a_thin_grey_line(ax):
    line = plots.draw_theory(ax, [1, 2], [3, 4])
    assert line.get_xydata().tolist() == [[1, 3], [2, 4]]
    assert (line.get_color(), line.get_linewidth(), line.get_marker()) == (plots.THEORY, 1, "None")


def test_survival_is_the_share_of_entries_at_least_as_large():
    values, share = plots.survival(np.array([3, 1, 1, 7]))
    assert (values.tolist(), share.tolist()) == ([1, 3, 7], [1, 0.5, 0.25])


def test_support_sizes_are_drawn_for_each_length(ax, counts):
    plots.draw_support_sizes(ax, counts)
    for line, count in zip(ax.lines, counts, strict=True):
        for s, share in line.get_xydata():
            assert share == pytest.approx((count.support_sizes >= s).mean())
    assert [text.get_text() for text in ax.texts] == ["$t = 0$", "$t = 1$", "$t = 2$", "$t = 3$"]


def test_one_hot_shares_are_drawn_by_context_and_by_place(ax, counts):
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


SHARES = pd.DataFrame(
    {
        "d/m": [0.25, 0.5, 1.0],
        "compatible": [0.0, 1.0, 1.0],
        "separable": [0.0, 0.25, 1.0],
        "undecided": [0.0, 0.0, 0.0],
    }
)


def test_shares_are_drawn_with_their_binomial_errors_and_none_is_left_out(ax):
    drawn = plots.draw_verdict_shares(ax, SHARES, draws=12)
    points = [line.get_xydata() for line in drawn.lines if line.get_marker() in ("s", "o", "x")]
    for column, xy in zip(("compatible", "separable", "undecided"), points, strict=True):
        assert np.array_equal(xy, SHARES[["d/m", column]])
    bars = drawn.containers[1].lines[2][0].get_segments()
    assert np.allclose(bars[1], [[0.5, 0.125], [0.5, 0.375]])
    assert {text.get_text() for text in drawn.texts} == {
        "$d = m$",
        "compatible",
        "separable",
        "undecided",
    }


@pytest.mark.parametrize(
    ("share", "at"),
    [
        ([0.0, 0.0, 1.0], (np.sqrt(0.5), 0.5)),
        ([1.0, 1.0, 1.0], (0.25, 1.0)),
        ([0.0, 0.0, 0.0], (0.25, 0.0)),
    ],
)
def test_a_label_stands_where_its_line_rises(ax, share, at):
    assert plots.rise(plots.draw_share(ax, [0.25, 0.5, 1.0], share, 4)) == pytest.approx(at)


def test_the_excess_is_drawn_as_points_beside_its_bound(ax):
    drawn = plots.draw_excess(ax, [0.0, 1.0, 2.0], [1.0, 0.1, 0.01], [2.0, 0.2, 0.02])
    bound, measured = drawn.lines
    assert np.array_equal(bound.get_ydata(), [2.0, 0.2, 0.02])
    assert np.array_equal(measured.get_xydata(), [[0, 1], [1, 0.1], [2, 0.01]])
    assert (drawn.get_yscale(), drawn.get_ylabel(), measured.get_linestyle()) == (
        "log",
        "excess loss (nats)",
        "None",
    )


def test_laws_are_written_into_cells_and_what_cannot_follow_is_black(ax):
    plots.draw_laws(ax, [[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]])
    assert ax.images[0].get_array().tolist() == [[1, 1, 0], [0, 0, 1]]
    assert [text.get_text() for text in ax.texts] == [".25", ".75", "1.00"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["$h_1$", "$h_2$"]


def test_words_that_coincide_share_a_dot(ax):
    plots.draw_plane(ax, [[0.0, 5.0]], [[1.0, 0.0], [0.0, 2.0], [1.0, 1e-9]])
    assert [line.get_xydata().tolist() for line in ax.lines] == [[[1, 0]], [[0, 2]]]
    assert [text.get_text() for text in ax.texts if text.get_text()] == ["$h_1$", "1, 3", "2"]
    arrow = ax.texts[0]
    assert tuple(arrow.xy) == (0, 2), "as long as the longest word"


def test_pairs_of_words_are_drawn_as_they_are(ax):
    plots.draw_overlap(ax, [0.0, 1.0], [-0.5, 1.0])
    assert ax.lines[0].get_xydata().tolist() == [[0, -0.5], [1, 1]]


def test_a_rate_axis_has_a_tick_for_every_rate(ax):
    ax.plot([0.05, 0.4], [1, 2])
    plots.rate_axis(ax, [0.05, 0.1, 0.4])
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.05", "0.1", "0.4"]
    assert ax.get_xscale() == "log"
    assert "learning rate" in ax.get_xlabel()


def test_the_valley_has_its_lines_and_the_path(ax):
    plots.draw_valley(
        ax,
        lambda points: (points[:, 0] * points[:, 1] - 1) ** 2,
        [[2.0, 0.5], [1.0, 1.0]],
        (0.5, 2.5, 0.2, 2.0),
    )
    assert ax.lines[0].get_xydata().tolist() == [[2.0, 0.5], [1.0, 1.0]]
    lines = [path for path in ax.collections[0].get_paths() if len(path.vertices)]
    assert len(lines) == 7
    x, y = lines[0].vertices.T
    assert np.abs((x * y - 1) ** 2 - 1e-4).max() < 1e-3
    assert (*ax.get_xlim(), *ax.get_ylim()) == (0.5, 2.5, 0.2, 2.0)

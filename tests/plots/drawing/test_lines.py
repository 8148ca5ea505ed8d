import pandas as pd

from ntpcompanion import plots


def test_theory_is_a_thin_grey_line(ax):
    line = plots.draw_theory(ax, [1, 2], [3, 4])
    assert line.get_xydata().tolist() == [[1, 3], [2, 4]]
    assert (line.get_color(), line.get_linewidth(), line.get_marker()) == (plots.THEORY, 1, "None")


def test_a_rate_axis_has_a_tick_for_every_rate(ax):
    ax.plot([0.05, 0.4], [1, 2])
    plots.rate_axis(ax, [0.05, 0.1, 0.4])
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.05", "0.1", "0.4"]
    assert ax.get_xscale() == "log"
    assert "learning rate" in ax.get_xlabel()


def test_ticks_stand_at_the_values_and_nowhere_else(ax):
    ax.set(xscale="log", xlim=(0.4, 30), ylim=(0, 9))
    plots.set_ticks(ax, x=pd.Index([0.5, 20, 1000]))
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.5", "20", "1000"]
    assert ax.xaxis.get_minorticklocs().tolist() == []
    assert len(ax.get_yticks()) > 3, "the other axis keeps its ticks"
    plots.set_ticks(ax, x=[1], y=[2, 4])
    assert (ax.get_xticks().tolist(), ax.get_yticks().tolist()) == ([1], [2, 4])
    plots.set_ticks(ax, x=[-1])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["−1"], "as in tables"


def test_curves_are_the_columns_of_a_frame_and_only_solid_ones_are_labelled(ax):
    frame = pd.DataFrame(
        {"one": [1.0, 10.0], "two": [2.0, 20.0]}, index=pd.Index([1, 100], name="k")
    )
    plots.draw_curves(ax, frame)
    plots.draw_curves(ax, frame / 2, style=":")
    assert ax.lines[1].get_xydata().tolist() == [[1, 2], [100, 20]]
    assert ax.lines[3].get_xydata().tolist() == [[1, 1], [100, 10]]
    assert [text.get_text() for text in ax.texts] == ["one", "two"]
    assert ax.lines[0].get_color() == ax.lines[2].get_color() != ax.lines[1].get_color()
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_xlabel()) == ("log", "log", "k")

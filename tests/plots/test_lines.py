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

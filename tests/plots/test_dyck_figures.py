import numpy as np
import pytest
from matplotlib.colors import to_hex

from ntpcompanion import plots
from ntpcompanion.dyck.bracket_counting import LearningCurve


def test_a_learning_curve_has_its_errors_with_bars_and_the_first_its_own_colour(ax):
    sizes = np.array([1, 2, 4])
    curves = {
        name: LearningCurve(sizes, error, error / 10, error, error / 10)
        for name, error in (("counting", np.array([0.5, 0.2, 0.01])), ("random", np.ones(3)))
    }
    plots.draw_learning(ax, curves)
    for curve, container, colour in zip(
        curves.values(), ax.containers, (plots.MEASUREMENT, plots.CONTRAST), strict=True
    ):
        line, _, (bars,) = container
        assert line.get_xydata().tolist() == np.stack([curve.sizes, curve.error], 1).tolist()
        assert line.get_color() == colour
        low, high = np.array(bars.get_segments())[:, :, 1].T
        assert (high - low) / 4 == pytest.approx(curve.error_stderr)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["counting", "random"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "4"]


def test_contributions_are_coloured_by_sign_and_paled_by_size(ax):
    contributions = np.array([[2.0, 0.0], [-1.0, 0.5]])
    plots.draw_contributions(ax, contributions, contributions == 0, largest=2)
    image = ax.images[0].get_array()
    assert np.asarray(image[..., 3]) ** 2 == pytest.approx(np.array([[1.0, 0.0], [0.5, 0.25]]))
    assert [to_hex(image[at][:3]) for at in ((0, 0), (1, 1))] == [plots.MEASUREMENT.lower()] * 2
    assert to_hex(image[1, 0][:3]) == plots.CONTRAST.lower()
    assert ax.lines[0].get_xydata().tolist() == [[1, 0]]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2"]


def test_pre_activations_are_dots_as_large_as_their_share_of_the_inputs(ax):
    plots.draw_preactivations(ax, np.array([[0, 1], [2, 1], [2, -1], [-2, -1]]))
    first, second = ax.collections
    assert first.get_offsets()[:, 0].tolist() == [-2, 0, 2]
    assert second.get_offsets()[:, 0].tolist() == [-1, 1]
    assert first.get_sizes() / first.get_sizes().sum() == pytest.approx([0.25, 0.25, 0.5])
    assert [to_hex(c) for c in first.get_facecolors()] == [
        colour.lower() for colour in (plots.MEASUREMENT, plots.CONTRAST, plots.MEASUREMENT)
    ]
    assert first.get_offsets()[0, 1] > second.get_offsets()[0, 1]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[:2] == ["neuron 1", "neuron 2"]
    x, y = ax.lines[0].get_data()
    assert np.maximum(x, 0).tolist() == list(y)


def test_each_side_has_its_parabola_and_its_continuation(ax):
    steps = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    losses = np.where(steps < 0, 1.5, 2.5) * steps**2
    plots.draw_two_curvatures(ax, steps, losses, (3.0, 5.0))
    *parabolas, points = ax.lines
    assert points.get_xydata().tolist() == np.stack([steps, losses], 1).tolist()
    ends = {
        (line.get_linestyle(), x[-1]): y[-1] for line in parabolas for x, y in [line.get_data()]
    }
    assert ends == {("-", -1.0): 1.5, ("--", 1.0): 1.5, ("-", 1.0): 2.5, ("--", -1.0): 2.5}

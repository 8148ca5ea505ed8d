import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from ntpcompanion.plots.sweep_figure import plot_sweep

RUNS = pd.DataFrame(
    {
        "run": [0, 0, 1, 1, 2, 2, 3],
        "state": ["done"] * 6 + ["failed"],
        "n": [10, 10, 10, 10, 20, 20, 20],
        "rule": ["gd", "gd", "gd", "gd", "adam", "adam", "adam"],
        "claim": ["a", "b", "a", "b", "a", "b", None],
        "value": [1.0, 7.0, 3.0, 7.0, 4.0, 7.0, np.nan],
    }
)


@pytest.fixture(autouse=True)
def closed():
    plt.switch_backend("agg")
    yield
    plt.close("all")


def test_the_mean_over_runs_with_its_standard_error():
    axes = plot_sweep(RUNS, "n", claim="a")
    ((line, _, (bars,)),) = axes.containers
    assert line.get_xydata().tolist() == [[10, 2], [20, 4]]
    low, high = bars.get_segments()[0][:, 1]
    assert (high - low) / 2 == pytest.approx(np.std([1, 3], ddof=1) / np.sqrt(2))
    assert np.ptp(bars.get_segments()[1][:, 1]) == 0, "one run has no standard error"
    assert axes.get_ylabel() == "a"
    assert [text.get_text() for text in axes.texts] == ["1 of 4 runs did not end well"]


def test_a_line_for_each_value_of_another_parameter():
    axes = plt.subplots()[1]
    assert plot_sweep(RUNS[RUNS["state"] == "done"], "n", claim="b", by="rule", ax=axes) is axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "rule = adam",
        "rule = gd",
    ]
    assert not axes.texts


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"x": "m"}, r"^The table has no column 'm'. It has run, state, n, rule, claim, value.$"),
        ({"x": "n", "by": "m"}, r"^The table has no column 'm'"),
        ({"x": "n"}, r"^`claim` must name one of the claims of the table: a, b.$"),
        ({"x": "n", "claim": "c"}, r"^`claim` must be one of a, b, got 'c'.$"),
    ],
)
def test_what_the_table_does_not_have_is_named(options, words):
    with pytest.raises(ValueError, match=words):
        plot_sweep(RUNS, **options)

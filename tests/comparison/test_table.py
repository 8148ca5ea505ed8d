import math

import pandas as pd

from ntpcompanion.comparison.table import recorded_table


def point(step, probe, closed, **more):
    return {
        "phase": "pretraining",
        "step": step,
        "kl": 0.5,
        "accuracies": {"3": probe},
        "closed_form": {"3": closed},
        **more,
    }


def task(seed, width, points, **lines):
    parameters = {
        "language": "hmm-4",
        "seed": seed,
        "shape": {"width": width, "layers": 1},
        "places": [3],
    }
    return {
        "parameters": parameters,
        "result": {"points": points, "lines": {"3": lines} if lines else {}},
    }


LINES = {"chance": 0.2, "lookup": [0.5, 0.7], "lookup, closed form": 0.55}
TASKS = [
    task(0, 16, [point(0, [0.1, 0.3], 0.4)]),
    task(
        0,
        8,
        [point(0, [0.2, 0.4], 0.6), point(9, [0.6, 0.8], 0.9, fine_tuned=[0.25, 0.75])],
        **LINES,
    ),
    task(1, 8, [point(0, [0.0, 1.0], 0.5)]),
]


def test_a_row_for_each_point_with_means_over_the_seeds_of_heads():
    table = recorded_table(TASKS)
    assert table[["seed", "width", "step"]].to_numpy().tolist() == [
        [0, 16, 0],
        [0, 8, 0],
        [0, 8, 9],
        [1, 8, 0],
    ]
    pd.testing.assert_series_equal(
        table["probe 3"], pd.Series([0.2, 0.3, 0.7, 0.5], name="probe 3")
    )
    assert table["closed form 3"].tolist() == [0.4, 0.6, 0.9, 0.5]
    assert table["fine-tuned"].fillna(-1).tolist() == [-1, -1, 0.5, -1]
    assert set(table.language) == {"hmm-4"}
    assert not {"accuracies", "closed_form", "fine_tuned"} & set(table)


def test_runs_without_lines_have_those_of_their_language_and_seed():
    table = recorded_table(iter(TASKS))
    assert table["lookup 3"].fillna(-1).round(9).tolist() == [0.6, 0.6, 0.6, -1]
    assert table["lookup, closed form 3"].tolist()[:3] == [0.55] * 3
    assert math.isnan(table["chance 3"].iloc[3])

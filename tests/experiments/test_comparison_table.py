import math

import pandas as pd

from ntpcompanion.experiments.comparison import Plan, Point, Result
from ntpcompanion.experiments.comparison_table import comparison_table
from ntpcompanion.experiments.evaluation_suite import ReferenceAccuracies


def point(step, probe, closed, **more):
    return Point(
        phase="pretraining",
        step=step,
        seconds=0.0,
        entropy=1.0,
        kl=0.5,
        kl_stderr=0.0,
        saturated=False,
        fisher=1.0,
        fisher_stderr=0.0,
        accuracies={3: tuple(probe)},
        closed_form={3: closed},
        **more,
    )


def made(seed, width, points, lines=None):
    """A plan, and a result with these points."""
    plan = Plan(
        language="hmm-4",
        shape={"width": width, "layers": 1, "heads": 1},
        training={"steps": 9, "batch_size": 1},
        seed=seed,
        places=(3,),
        examples=(9, 9),
        probe={},
        evaluation={},
    )
    result = Result(
        points=points, lines={3: lines} if lines else {}, enlarged={}, parameters=1, device="cpu"
    )
    return plan, result


LINES = ReferenceAccuracies(0.2, 0.9, (0.5, 0.7), (0.3, 0.3), 0.55, 0.45)
RUNS = [
    made(0, 16, (point(0, [0.1, 0.3], 0.4),)),
    made(
        0,
        8,
        (point(0, [0.2, 0.4], 0.6), point(9, [0.6, 0.8], 0.9, fine_tuned=(0.25, 0.75))),
        LINES,
    ),
    made(1, 8, (point(0, [0.0, 1.0], 0.5),)),
]


def test_a_row_for_each_point_with_means_over_the_seeds_of_heads():
    table = comparison_table(RUNS)
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
    table = comparison_table(iter(RUNS))
    assert table["lookup 3"].fillna(-1).round(9).tolist() == [0.6, 0.6, 0.6, -1]
    assert table["lookup, closed form 3"].tolist()[:3] == [0.55] * 3
    assert math.isnan(table["chance 3"].iloc[3])

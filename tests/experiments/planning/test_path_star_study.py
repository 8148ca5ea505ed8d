"""Estimates on the records against the same numbers from their runs, one by one."""

import numpy as np
import pytest

from ntpcompanion.experiments.planning import path_star
from ntpcompanion.experiments.planning.path_star_study import (
    RECORDS,
    printed_accuracies,
    read_path_stars,
)
from tests.experiments.cases import recorded


@pytest.fixture(scope="module")
def tasks():
    return {name: recorded(path_star, f"path_star_{name}") for name in RECORDS}


@pytest.fixture(scope="module")
def found(tasks):
    return read_path_stars(tasks)


def last_scores(tasks, name, objective="next_token", query=None):
    """A_i at the last evaluation of the runs of a record, and whether they solve the task."""
    rows = [
        (task.result.evaluations[-1].scores[-1].accuracy, task.result.solved_at is not None)
        for task in tasks[name]
        if task.plan.objective == objective and query in (None, task.plan.query)
    ]
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


def test_kinds_are_runs_of_their_records(found, tasks):
    accuracy, _ = last_scores(tasks, "last")
    assert found.mean("end", "first_node").mean == pytest.approx(accuracy[:, 1].mean())
    for kind, record, objective in (
        ("back", "last", "reversed"),
        ("forced", "first", "next_token"),
        ("taught", "first", "teacherless"),
        ("mixed", "mixed", "next_token"),
    ):
        _, solved = last_scores(tasks, record, objective)
        assert found.solved(kind).succeeded == solved.sum()
    alone, forced = (last_scores(tasks, name, query="first")[1] for name in ("first_node", "first"))
    shrunk = [(solved.sum() + 0.5) / (len(solved) + 1) for solved in (alone, forced)]
    assert found.interference.mean == pytest.approx(shrunk[0] - shrunk[1])
    gaps = [
        task.result.trained_on[0].exact - task.result.evaluations[-1].scores[0].exact
        for task in tasks["small_set"]
    ]
    assert found.memorized.mean == pytest.approx(np.mean(gaps))
    assert 0.9 < found.first_bits.mean < 1.1  # a coin is tossed between two arms
    assert found.over_chance.mean == pytest.approx(1, abs=0.2)


def test_the_map_counts_runs_of_three_thousand_steps(found, tasks):
    rows = [
        (task.plan, (task.result.solved_at or np.inf) <= 3000)
        for name, runs in tasks.items()
        if name.startswith(("map", "first", "last"))
        for task in runs
        if task.plan.objective == "next_token"
    ]
    assert len(rows) == len(found.mapped)
    three = [(plan.query, solved) for plan, solved in rows if max(plan.lengths) == 3]
    shares = [np.mean([s for q, s in three if q == query]) for query in ("first", "last")]
    assert found.query_first.mean == pytest.approx(shares[0] - shares[1])
    weights = [np.mean([s for plan, s in rows if plan.others == w]) for w in (0.0, 1.0)]
    assert found.without_others.mean == pytest.approx(weights[0] - weights[1])
    assert set(found.map_records) <= {f"path_star_{name}" for name in RECORDS}


def test_tables_hold_all_runs(found, tasks):
    assert found.counted.runs.sum() == sum(map(len, tasks.values()))
    assert found.by_weight.groupby("others").seed.nunique().to_dict() == {0: 5, 0.1: 5, 1: 5}
    assert found.numbers("back")["back_runs"] == len(found.kinds["back"])
    printed = printed_accuracies()
    assert printed["1/d"].tolist() == [50, 50, 20, 10, 5]
    assert printed["cheat (nats)"][0] == pytest.approx(np.log(2) / 5)

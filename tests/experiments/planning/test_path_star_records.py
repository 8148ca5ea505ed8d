"""Rows of small runs, and estimates on the records against the same numbers from their runs, one by
one.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ntpcompanion.experiments.planning import path_star
from ntpcompanion.experiments.planning.path_star import Plan, run
from ntpcompanion.experiments.planning.path_star_records import (
    COLUMNS,
    COURSE,
    RECORDS,
    course_table,
    describe_runs,
    printed_accuracies,
    read_path_stars,
    runs_table,
)
from ntpcompanion.recorded import Run
from tests.experiments.cases import recorded

VALUES = {"size": {"width": 8, "layers": 1, "heads": 1}, "steps": 4, "every": 2, "batch_size": 6}
VALUES |= {"held_out": 20, "lengths": [3, 5], "labels": 10, "seed": 0}


def rows(**changes):
    plan = Plan.from_json(VALUES | changes)
    result = run(plan)
    return result, runs_table([Run(plan, result)]).loc[0]


def test_a_row_is_about_the_longest_path_at_the_last_evaluation():
    result, row = rows(graphs=3)
    last, wrong = result.evaluations[-1].scores[1], result.evaluations[-1].wrong_arm[1]
    assert (row.length, row.step, row.solved) == (5, 4, False)
    assert (row.exact, row.first_node) == (last.exact, last.accuracy[1])
    assert row.first_loss == last.cross_entropy[1]
    assert row.later == min(last.accuracy[2:])
    assert (row.follows, row.leaf, row.goal) == (min(wrong.agreement), wrong.leaf, wrong.goal)
    assert row.memorized == result.trained_on[1].exact


def test_what_is_not_defined_is_missing():
    _, row = rows(objective="reversed")
    assert row[["follows", "leaf", "goal", "memorized", "order"]].isna().all()


def test_the_order_is_a_difference_of_steps():
    plan = Plan.from_json(VALUES | {"lengths": [5]})
    result = run(plan)

    def reach(at, first, late):
        scores = replace(at.scores[0], accuracy=(1.0, first, 0.0, late, 1.0))
        return replace(at, scores=(scores,))

    first, second, third = result.evaluations
    path = reach(first, 0.2, 0.95), reach(second, 0.89, 0.3), reach(third, 0.9, 1.0)
    changed = result.model_copy(update={"evaluations": path})
    table = runs_table([Run(plan, changed)])
    assert table.order.tolist() == [4]
    never = reach(first, 0.2, 0.3), reach(second, 0.5, 0.9), reach(third, 0.5, 1.0)
    changed = result.model_copy(update={"evaluations": never})
    table = runs_table([Run(plan, changed)])
    assert table.order.tolist() == [2]  # to the end


def table_of_accuracies(path, steps=None):
    """Of a run on paths of four nodes whose accuracies at the middle nodes are these."""
    plan = Plan.from_json(VALUES | {"lengths": [4], "steps": len(path) - 1, "every": 1})
    result = run(plan)
    changed = tuple(
        replace(at, scores=(replace(at.scores[0], accuracy=(1.0, *pair, 1.0)),))
        for at, pair in zip(result.evaluations, path, strict=True)
    )
    result = result.model_copy(update={"evaluations": changed, "solved_at": len(path) - 1})
    return runs_table([Run(plan, result)], steps).loc[0]


def test_a_stall_lasts_from_the_cheat_to_the_first_node_that_is_no_guess():
    guess, plan = (0.52, 0.98), (0.61, 1.0)
    assert table_of_accuracies([plan[:1] * 2, guess, guess, guess, plan]).stall == 3
    assert table_of_accuracies([(0.0, 0.0), guess, guess]).stall == 1  # to the end
    assert table_of_accuracies([guess, (0.6, 1.0), plan, plan, plan]).stall == 2
    assert table_of_accuracies([(0.7, 0.97), plan]).stall == 0
    assert np.isnan(table_of_accuracies([(0.7, 0.97), (0.5, 0.97)]).stall)


def test_runs_are_read_as_if_they_had_ended():
    path = [(0.0, 0.0), (0.5, 0.99), (0.5, 1.0), (1.0, 1.0)]
    whole, early = table_of_accuracies(path), table_of_accuracies(path, 2)
    assert (whole.step, whole.solved, whole.first_node, whole.stall) == (3, True, 1.0, 2)
    assert (early.step, early.solved, early.first_node, early.stall) == (2, False, 0.5, 1)
    pd.testing.assert_series_equal(table_of_accuracies(path, 3), whole)
    with pytest.raises(ValueError, match="`steps`"):
        runs_table([], -1)


@pytest.mark.parametrize("objective", ["next_token", "reversed", "teacherless"])
def test_a_course_counts_nodes_of_the_longest_path_from_the_root(objective):
    plan = Plan.from_json(VALUES | {"objective": objective})
    result = run(plan)
    table = course_table([Run(plan, result)])
    assert [*table.columns] == [*COURSE]
    for at in result.evaluations:
        for node in range(5):
            row = table[(table.step == at.step) & (table.node == node)]
            place = 4 - node if objective == "reversed" else node
            assert row.accuracy.tolist() == [at.scores[1].accuracy[place]]
    assert len(table) == 5 * len(result.evaluations)


def test_a_row_may_be_about_another_length_and_minutes_are_those_of_the_run():
    plan = Plan.from_json(VALUES)
    result = run(plan)
    task = Run(plan, result, 90.0)
    row = runs_table([task], length=3).loc[0]
    first = result.evaluations[-1].scores[0]
    assert (row.length, row.first_node, row.minutes) == (3, first.accuracy[1], 1.5)
    with pytest.raises(ValueError, match=r"`length` must be one of \[3, 5\], got 4"):
        runs_table([task], length=4)


def test_kinds_of_runs_are_described_by_numbers():
    rows = pd.DataFrame(np.nan, range(2), list(COLUMNS)).assign(
        seed=[0, 1], step=[500, 250], solved=[False, True], first_node=[0.5, 1.0],
        later=[0.91, 0.99], stall=[100.0, np.nan],
    )  # fmt: skip
    numbers = describe_runs({"all": rows, "one": rows[:1]})
    of_all = {name.removeprefix("all_"): x for name, x in numbers.items() if name[:4] == "all_"}
    assert of_all == {
        "runs": 2, "solved": 1, "steps": 500, "first": 75, "best": 100, "later_min": 91,
        "later_max": 99, "stall": 100, "cheats": 1, "near_cheats": 2, "guesses": 1,
    }  # fmt: skip
    assert (numbers["one_runs"], numbers["one_first"], numbers["one_cheats"]) == (1, 50, 0)
    with pytest.raises(ValueError, match="`kinds` must hold at least one table"):
        describe_runs({})


def test_no_runs_are_an_empty_table():
    assert [*course_table([]).columns] == [*COURSE]
    pd.testing.assert_index_equal(runs_table([]).columns, pd.Index(COLUMNS))
    assert runs_table([]).empty


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

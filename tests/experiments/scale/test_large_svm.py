import json

import numpy as np
import pytest

from ntpcompanion.experiments.scale import large_svm
from ntpcompanion.experiments.scale.large_svm import Plan, Result, read_tables, run
from tests.experiments.cases import RECORDS, check_wrong_fields, recorded

SIZES = {"num_contexts": 30, "vocab_size": 9, "dim": 12, "support_size": 2}
RIGHT = {"sizes": SIZES, "table": "planted", "solver": "working set", "tol": 1e-6}
RIGHT |= {"max_products": 500, "seed": 0}
WRONG = {"sizes": (SIZES | {"support_size": 9}, r"`sizes.support_size` must be at most 8 .*got 9")}


def test_every_wrong_field_is_named():
    check_wrong_fields(Plan, RIGHT, WRONG)


@pytest.mark.parametrize(
    "name", ["large_svm", "large_svm_full", "large_svm_growth", "large_svm_wide"]
)
def test_recorded_tables_are_solved_to_the_tolerance(name):
    rows = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))["results"]
    solved = [Result.from_json(row["result"]) for row in rows]
    assert max(each.gap for each in solved) <= 1e-6
    if name != "large_svm_wide":
        assert max(each.tie_violation for each in solved) <= 1e-7


@pytest.mark.parametrize("table", ["planted", "gaussian"])
def test_both_solvers_find_the_same_norm(table):
    found = [
        run(
            Plan.from_json(RIGHT | {"table": table, "sizes": SIZES | {"dim": 40}, "solver": solver})
        )
        for solver in ("working set", "gram")
    ]
    assert [one.verdict for one in found] == ["SEPARABLE"] * 2
    assert found[0].norm == pytest.approx(found[1].norm, rel=2e-6)
    assert found[0].gaps[-1] == found[0].gap <= 1e-6
    assert found[0].products_at[-1] == found[0].products
    assert found[0].working_set < found[1].working_set
    assert Result.from_json(found[0].to_json()) == found[0]


def test_recorded_tables_have_powers_and_costs():
    found = read_tables({name: recorded(large_svm, name) for name in large_svm.RECORDS})
    assert found.large.num_contexts.tolist() == [3000, 10000, 30000, 100000]
    assert found.shown.m.tolist() == found.large.num_contexts.tolist()
    arm = found.arms["num_contexts"]
    assert arm.columns.tolist() == [500, 1000, 2000, 4000]
    slopes = np.polyfit(np.log(arm.columns), np.log(arm).T, 1)[0]  # of each seed
    assert found.powers["num_contexts"].mean == pytest.approx(slopes.mean())
    last = found.large.iloc[-1]
    assert found.pairs_each == last.working_set / 100_000
    assert found.costs["multiplications of a scan, each machine"] == 4e12
    assert found.wide.plan.table == "gaussian"

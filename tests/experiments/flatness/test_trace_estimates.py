import json

import numpy as np
import pytest

from ntpcompanion.experiments.flatness.trace_estimates import Plan, Result, run

RIGHT = {"hidden": 16, "directions": 2, "inputs": 500, "seed": 0}


@pytest.fixture(scope="module")
def found():
    return run(Plan.from_json(RIGHT))


def test_a_result_is_plain_numbers_found_again_but_for_the_seconds(found):
    assert Result.from_json(json.loads(json.dumps(found.to_json()))) == found
    again = run(Plan.from_json(RIGHT))
    timed = {"estimates", "costs"}
    assert again.model_dump(exclude=timed) == found.model_dump(exclude=timed)
    for table in ("table", "cost_table"):
        columns = ["trace", "error" if table == "table" else "standard error"]
        assert getattr(again, table)[columns].equals(getattr(found, table)[columns])


def test_both_estimates_are_unbiased_at_the_minimizer(found):
    exact, *others = found.estimates
    assert (exact.error, exact.draws) == (0, 0)
    assert found.table.draws.isna().tolist() == [True, False, False]
    for one in others:
        assert abs(one.trace - exact.trace) < 5 * one.error
    assert found.ratio.mean == others[0].trace / exact.trace
    traces = found.cost_table
    apart = abs(np.subtract.outer(traces.trace.to_numpy(), traces.trace.to_numpy()))
    assert (apart <= 5 * 2 * traces["standard error"].max()).all()


def test_one_function_has_many_traces(found):
    table = found.written_table
    assert table.trace.to_numpy() == pytest.approx(0.16 * (table.a**2 + (np.log(4) / table.a) ** 2))

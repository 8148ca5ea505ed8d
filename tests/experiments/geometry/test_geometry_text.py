import numpy as np
import pytest

from ntpcompanion.experiments.geometry.geometry_text import Plan, Result, path_table, run
from ntpcompanion.experiments.geometry.text_table import read_table
from tests.experiments.cases import check_wrong_fields

RIGHT = {"num_words": 60, "vocab_size": 8, "context_length": 1, "ridges": [1e-2, 1e-4]}
WRONG = {"ridges": ([1e-4, 1e-2], r"should hold positive numbers that fall, got")}


def test_every_wrong_field_is_named():
    check_wrong_fields(Plan, RIGHT, WRONG)


@pytest.mark.parametrize("ridges", [[], [0.0], [1e-2, 1e-2]])
def test_ridges_are_positive_and_fall(ridges):
    with pytest.raises(ValueError, match="positive numbers that fall"):
        Plan.from_json(RIGHT | {"ridges": ridges})


def test_the_path_of_a_small_text_meets_its_theory():
    plan = Plan.from_json(RIGHT | {"ridges": [1e-2, 1e-4, 1e-6, 1e-7], "path_tol": 1e-6})
    found = run(plan)
    table = read_table(plan)
    assert (found.contexts, found.supports) == (
        len(table.support),
        len({row.tobytes() for row in table.support}),
    )
    assert found.gap <= plan.svm_tol
    assert max(point.gap for point in found.path) <= plan.path_tol
    late = found.path[-2:]
    decade = np.log(late[0].ridge / late[1].ridge)
    assert (late[1].growth - late[0].growth) / decade == pytest.approx(1, abs=0.02)
    assert late[1].floor_ratio == pytest.approx(1, abs=0.02)
    assert late[1].finite_error < 1e-2
    assert found.path[0].cosine < late[1].cosine <= 1
    assert late[1].angles.contexts.solution > 0.9
    assert Result.from_json(found.to_json()) == found
    rows = path_table(found)
    assert rows.rate.iloc[-1] == pytest.approx((late[1].growth - late[0].growth) / decade)
    assert rows.growth.tolist() == [point.growth for point in found.path]
    assert rows.words.iloc[1] == found.path[1].angles.words.solution
    assert rows.contexts.iloc[1] == found.path[1].angles.contexts.solution
    assert rows.same.iloc[-1] == late[1].angles.same_mean

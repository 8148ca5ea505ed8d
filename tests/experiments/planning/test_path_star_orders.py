import json

import pytest

from ntpcompanion.experiments.planning import path_star
from ntpcompanion.experiments.planning.path_star_orders import Plan, Result, run

PLAN = {"size": {"width": 8, "layers": 1, "heads": 1}, "steps": 4, "every": 2, "batch_size": 4}
PLAN |= {"held_out": 20, "seed": 0}


@pytest.fixture(scope="module")
def found():
    return run(Plan.from_json(PLAN))


def test_equal_plans_give_equal_results_that_are_read_as_written(found):
    assert found == run(Plan.from_json(PLAN | {"objective": "reversed"}))  # both are trained
    assert Result.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found != run(Plan.from_json(PLAN | {"seed": 1}))


@pytest.mark.parametrize("objective", ["next_token", "reversed"])
def test_the_accuracies_are_those_of_path_star_counted_from_the_root(found, objective):
    alone = path_star.run(path_star.Plan.from_json(PLAN | {"objective": objective}))
    nodes = found.accuracies(objective)
    assert nodes.index.tolist() == [0, 2, 4]
    for at, (_, row) in zip(alone.evaluations, nodes.iterrows(), strict=True):
        answer = at.scores[0].accuracy
        assert tuple(row) == (answer[::-1] if objective == "reversed" else answer)
    rows = found.table[found.table.objective == objective]
    assert tuple(rows.loc[rows.step == 4, list(range(4))].iloc[0]) == answer


def test_teacher_forcing_and_decoding_are_exact_on_the_same_graphs(found):
    assert found.disagreements == 0
    assert 0 <= found.exact <= 1


def test_an_order_that_was_not_run_is_named(found):
    with pytest.raises(
        ValueError, match="`objective` must be one of 'next_token', 'reversed', got"
    ):
        found.accuracies("teacherless")

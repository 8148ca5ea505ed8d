import json
from dataclasses import replace

import numpy as np
import pytest

from ntpcompanion.experiments.planning import path_star as module
from ntpcompanion.experiments.planning.path_star import Plan, Result, run, succeeded
from ntpcompanion.planning import PathStar, answer_loss, score_answers, training
from ntpcompanion.planning.answer_losses import network_predictor
from ntpcompanion.planning.path_star_task import draw_graphs
from ntpcompanion.randomness import stream
from tests.experiments.cases import check_wrong_fields

ARMS = {
    "all": {},
    "alone": {"others": 0.0},
    "first": {"query": "first"},
    "teacherless": {"objective": "teacherless"},
}
SIZE = {"width": 8, "layers": 1, "heads": 1}
PLAN = {"size": SIZE, "steps": 4, "every": 2, "batch_size": 4, "held_out": 20, "seed": 0}


def planned(**changes):
    return Plan.from_json(PLAN | changes)


def test_equal_plans_give_equal_results_that_are_read_as_written():
    first, second = run(planned()), run(planned())
    assert first == second
    assert Result.from_json(json.loads(json.dumps(first.to_json()))) == first
    assert [at.step for at in first.evaluations] == [0, 2, 4]
    assert first.solved_at is None
    assert first.trained_on is None
    assert run(planned(seed=1)) != first


def test_the_scores_are_those_of_the_network_on_the_held_out_graphs():
    plan = planned()
    model = module.build_model_of(plan)
    *_, last = module.evaluations(plan, model)
    task = PathStar(2, 4, 8)
    graphs = draw_graphs(task, 20, stream(0, "held out graphs of length 4"))
    assert last.scores == (score_answers(graphs, network_predictor(model, task)),)
    assert run(plan).evaluations[-1] == last


def test_a_run_stops_when_it_succeeds(monkeypatch):
    monkeypatch.setattr(module, "succeeded", lambda plan, at: at.step >= 2)
    result = run(planned())
    assert result.solved_at == 2
    assert [at.step for at in result.evaluations] == [0, 2]


@pytest.mark.parametrize("others", [1.0, 0.0])
def test_success_is_about_the_tokens_that_are_trained(others):
    plan = planned(others=others, success=0.5)
    at = next(module.evaluations(plan, module.build_model_of(plan)))
    first_node_only = replace(at.scores[0], accuracy=(0.0, 0.6, 0.0, 0.0), exact=0.0)
    assert succeeded(plan, replace(at, scores=(first_node_only,))) is (others == 0)


def test_all_lengths_must_succeed():
    plan = planned(lengths=[3, 4], success=0.5)
    at = next(module.evaluations(plan, module.build_model_of(plan)))
    for second in (0.4, 0.6):
        scores = replace(at.scores[0], exact=0.9), replace(at.scores[1], exact=second)
        assert succeeded(plan, replace(at, scores=scores)) is (second == 0.6)


def test_what_the_objectives_train():
    assert planned().objective_for(PathStar(2, 4, 8)).weights == (1, 1, 1, 1)
    first = planned(others=0.0).objective_for(PathStar(2, 5, 10))
    assert first.weights == (0, 1, 0, 0, 0)
    assert planned(objective="teacherless").objective_for(PathStar(2, 4, 8)).teacherless
    assert [task.reversed for task in planned(objective="reversed").tasks()] == [True]


def test_equal_seeds_start_alike_and_see_the_same_graphs(monkeypatch):
    """Arms that differ in the objective alone are compared on equal graphs, seed by seed."""
    seen = {}
    for name, changes in ARMS.items():
        drawn = seen.setdefault(name, [])

        def keep(model, graphs, objective, drawn=drawn):
            drawn.append((graphs.root, graphs.branches, graphs.order))
            return answer_loss(model, graphs, objective)

        monkeypatch.setattr(training, "answer_loss", keep)
        start = run(planned(**changes)).evaluations[0].scores[0]
        drawn.append((start.accuracy, start.cross_entropy) if name != "teacherless" else None)
    for name in ("alone", "first", "teacherless"):
        for one, other in zip(seen["all"][:4], seen[name][:4], strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)
    assert seen["all"][4] == seen["alone"][4]


def test_a_fixed_set_is_scored_at_the_end():
    plan = planned(graphs=3)
    result = run(plan)
    model, fixed = module.build_model_of(plan), module.fixed_graphs(plan)
    assert [len(graphs) for graphs in fixed] == [3]
    list(module.evaluations(plan, model, fixed))
    scores = score_answers(fixed[0], network_predictor(model, fixed[0].task))
    assert result.trained_on == (scores,)
    assert np.isfinite(scores.loss)


def test_wrong_plans_are_rejected():
    wrong = {"labels": (6, "nodes of the graph"), "size": ({"width": 8}, "missing")}
    check_wrong_fields(Plan, PLAN, wrong)
    with pytest.raises(ValueError, match=r"`others` must be 1.*got 0\."):
        planned(objective="reversed", others=0.0)


def test_the_initial_deviation_is_that_of_the_plan():
    small, large = (
        module.build_model_of(planned(deviation=deviation)).words.weight.std().item()
        for deviation in (0.02, 0.06)
    )
    assert large == pytest.approx(3 * small)

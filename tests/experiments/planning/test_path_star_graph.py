import json

import numpy as np
import pytest

from ntpcompanion.experiments.planning import path_star
from ntpcompanion.experiments.planning.path_star_graph import Plan, Result, followed_runs, run
from ntpcompanion.planning import network_predictor, score_answers
from ntpcompanion.planning.path_star_task import draw_graphs
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run

PLAN = {"size": {"width": 8, "layers": 1, "heads": 1}, "steps": 4, "every": 2, "batch_size": 4}
PLAN |= {"held_out": 20, "seed": 0}


def planned(**changes):
    return Plan.from_json(PLAN | changes)


def test_equal_plans_give_equal_results_that_are_read_as_written():
    found = run(planned())
    assert found == run(planned())
    assert Result.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found.steps == (0, 2, 4)
    assert np.shape(found.probabilities) == (3, 4, 8)
    assert found.solved_at is None


@pytest.mark.parametrize("objective", ["next_token", "reversed", "teacherless"])
def test_the_probabilities_are_those_of_the_network_that_path_star_trains(objective):
    plan = planned(objective=objective)
    found = run(plan)
    model = path_star.build_model_of(plan)
    *_, last = path_star.evaluations(plan, model)
    (task,) = plan.tasks()
    graph = draw_graphs(task, 1, stream(0, "the graph that is followed"))
    assert tuple(graph.answer[0].tolist()) == found.answer
    predict = network_predictor(model, task, teacherless=objective == "teacherless")
    scores = score_answers(graph, predict)
    last_asked = zip(found.probabilities[-1], found.answer, strict=True)
    of_the_answer = [row[node] for row, node in last_asked]
    np.testing.assert_allclose(-np.log(of_the_answer), scores.cross_entropy, rtol=1e-2)
    plain = path_star.run(path_star.Plan.from_json(plan.to_json()))
    assert plain.evaluations[-1] == last
    assert found.steps[-1] == last.step


def test_every_training_is_asked_about_the_same_graph():
    graphs = [
        run(planned(query=query, objective=objective))
        for query in ("first", "last")
        for objective in ("next_token", "reversed")
    ]
    assert len({(g.root, g.branches, g.edges) for g in graphs}) == 1
    assert {g.answer for g in graphs} == {graphs[0].answer, graphs[0].answer[::-1]}
    assert graphs[0].answer == (graphs[0].root, *graphs[0].branches[0])


@pytest.mark.parametrize("query", ["first", "last"])
def test_a_recorded_run_is_shown_with_its_question(query):
    values = PLAN | {"query": query}
    result = run(planned(query=query))
    shown = followed_runs([Run(Plan.from_json(values), result)])
    (task,) = planned(query=query).tasks()
    graph = draw_graphs(task, 1, stream(0, "the graph that is followed"))
    assert (shown["root"], shown["branches"]) == (result.root, result.branches)
    assert shown["runs"] == [
        {
            "objective": "next_token",
            "query": query,
            "question": task.text(graph.prefix[0]),
            "answer": result.answer,
            "steps": result.steps,
            "probabilities": result.probabilities,
            "solved": None,
        }
    ]


def test_a_run_stops_when_it_succeeds(monkeypatch):
    monkeypatch.setattr(path_star, "succeeded", lambda plan, at: at.step >= 2)
    found = run(planned())
    assert found.solved_at == 2
    assert found.steps == (0, 2)


def test_several_lengths_are_refused_by_name():
    with pytest.raises(ValueError, match=r"`lengths` must hold one length.*\[3, 4\]"):
        planned(lengths=[3, 4])

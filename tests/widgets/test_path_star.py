"""The figure of one path-star graph: what it says against the record, and what a reader does."""

import json
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from ntpcompanion.planning import PathStar, draw_graphs
from ntpcompanion.randomness import stream
from tests.widgets.shown import shown_widget, state

RECORD = Path(__file__).parents[2] / "book" / "records" / "path_star_graph.json"


@pytest.fixture(scope="module")
def recorded():
    tasks = json.loads(RECORD.read_text())["results"]
    named = [(task["parameters"], task["result"]) for task in tasks]
    return {(plan["objective"], plan["query"]): result for plan, result in named}


@pytest.fixture(scope="module")
def touched():
    return shown_widget("pitfalls", "path_star")


def test_its_data_are_those_of_the_record(touched, recorded):
    assert len(touched.data["runs"]) == len(recorded) == 6
    for run in touched.data["runs"]:
        result = recorded[run["objective"], run["query"]]
        assert run["probabilities"] == result["probabilities"]
        assert (run["steps"], run["answer"]) == (result["steps"], result["answer"])
        assert run["solved"] == result["solved_at"]
        path = [touched.data["root"], *touched.data["branches"][0]]
        assert result["answer"] == (path[::-1] if run["objective"] == "reversed" else path)
        task = PathStar(arms=2, length=4, labels=8, query=run["query"])
        graph = draw_graphs(task, 1, stream(0, "the graph that is followed"))
        assert run["question"] == task.text(graph.prefix[0])


def test_labels_are_ranked_by_probability(touched, opened, rng):
    rows = [[0.25, 0.5, 0.25], [0.0, 0.0, 1.0], *rng.random((5, 8)).round(4).tolist()]
    with opened(touched) as page:
        found = page.evaluate("rows => rows.map(ntpPathStar.ranked)", rows)
    for row, ours in zip(rows, found, strict=True):
        order = np.argsort(-np.array(row), kind="stable")
        assert ours == [[int(label), row[label]] for label in order]


@pytest.mark.parametrize("objective", ["next_token", "reversed", "teacherless"])
@pytest.mark.parametrize("query", ["last", "first"])
def test_every_choice_shows_its_run(touched, recorded, opened, objective, query):
    result = recorded[objective, query]
    questions = {run["query"]: run["question"] for run in touched.data["runs"]}
    with opened(touched) as page:
        page.get_by_role("combobox", name="training").select_option(value=objective)
        page.get_by_role("combobox", name="root and goal stand").select_option(value=query)
        page.get_by_role("slider", name="training steps").press("End")
        slider = page.get_by_role("slider", name="token of the answer")
        slider.press("Home")
        for position, right in enumerate(result["answer"]):
            shown = state(page)
            assert shown["step"] == result["steps"][-1]
            assert shown["probabilities"] == result["probabilities"][-1][position]
            assert shown["right"] == right
            before = [] if objective == "teacherless" else result["answer"][:position]
            assert shown["given"] == before
            says = page.locator(".ntp-says")
            expect(says).to_contain_text(f"Right is {right}, token {position + 1} of the answer.")
            fed = ["$"] * position if objective == "teacherless" else before
            read = " ".join([questions[query], *map(str, fed)])
            expect(says).to_contain_text(f"reads “{read}” and says")
            slider.press("ArrowRight")

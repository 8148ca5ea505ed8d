"""What waits for a GPU: every task is a plan of its experiment, and runs in miniature here."""

from pathlib import Path

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.records.record import read_plans
from ntpcompanion.workflow.sweeps.grid import grid_tasks
from ntpcompanion.workflow.sweeps.targets import load_experiment
from tests.languages.opt import saved_with_text, small_opt

PROJECT = Project.find(Path(__file__))
QUEUED = {name: plan for name, plan in read_plans(PROJECT).items() if plan.queue}


@pytest.mark.parametrize("name", QUEUED)
def test_all_tasks_are_plans(name):
    plan, experiment = QUEUED[name], load_experiment(PROJECT, QUEUED[name].experiment)
    for task in grid_tasks(plan.fixed, plan.grid):
        assert experiment.Plan.from_json(task).device == "auto"


@pytest.mark.slow
@pytest.mark.parametrize("name", QUEUED)
def test_the_miniature_gives_a_result(name, tmp_path):
    plan, experiment = QUEUED[name], load_experiment(PROJECT, QUEUED[name].experiment)
    first = {field: values[0] for field, values in plan.grid.items()}
    values = plan.fixed | first | plan.queue.miniature
    if "source" in experiment.Plan.model_fields:  # a model that is at hand everywhere
        source = saved_with_text(tmp_path, small_opt(), 20)["source"]
        values |= {"source": source, "start": None}
    task = experiment.Plan.from_json(values)
    result = experiment.run(task)
    assert experiment.Result.from_json(result.to_json()) == result

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.sweeps.find_experiment import (
    experiment_module,
    load_experiment,
    read_points,
    run_point,
)
from tests.toy import HALVES

UNFIT = """
def run(plan, checkpoint):
    (checkpoint / "begun").touch()
    return Result(value=float("nan"))
"""


@pytest.fixture
def study(importable):
    importable.write_experiment("halves", HALVES)
    return experiment_module(importable.project, "halves")


def test_an_experiment_is_a_module_found_by_name(study):
    assert study == "toypkg.experiments.halves"
    found = load_experiment(study)
    assert found.run(found.Plan(n=3)) == found.Result(value=1.5)


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        (
            "half",
            None,
            r"^`experiment: half` is not a module .* Did you mean 'halves'\? Kno",
        ),
        (
            "empty",
            "",
            r"^toypkg.experiments.empty is not an experiment: it defines no run\. An exper",
        ),
        (
            "bare",
            "del Plan, Result",
            r"is not an experiment: it defines no Plan and no Result and no r",
        ),
        ("broken", "1 / 0", r"cannot be imported \(ZeroDivisionError: division by zero\)"),
        ("lacking", "import no_such", r"lacking cannot be imported: No module named 'no_such'"),
    ],
)
def test_what_is_no_experiment_is_named(study, importable, name, code, words):
    if code is not None:
        importable.write_experiment(name, code)
    with pytest.raises(WorkflowError, match=words):
        load_experiment(experiment_module(importable.project, name))


def test_a_package_without_experiments(importable):
    with pytest.raises(WorkflowError, match=r"not a module of toypkg.experiments. Known: none."):
        load_experiment("toypkg.experiments.halves")


def test_all_points_are_plans_before_any_is_run(study):
    read_points(study, [{"n": 1}, {"n": 2}])
    words = r"^{'n': '2'} is not a plan of toypkg.experiments.halves: `n` should be a valid integer"
    with pytest.raises(WorkflowError, match=words):
        read_points(study, [{"n": 1}, {"n": "2"}])


def test_a_point_is_run_with_a_folder_if_it_asks_for_one(study, importable, tmp_path):
    assert run_point(study, {"n": 3}, tmp_path / "halves") == {"value": 1.5}
    assert not (tmp_path / "halves").exists()
    importable.write_experiment("unfit", UNFIT)
    with pytest.raises(ValueError, match=r"^what it returned cannot be kept. .*are finite"):
        run_point("toypkg.experiments.unfit", {"n": 3}, tmp_path / "unfit")
    assert (tmp_path / "unfit" / "begun").exists()

import pytest

from ntpcompanion.workflow.sweeps.targets import declared_inputs, load_experiment, read_plan
from tests.refusing import refused
from tests.toy import HALVES


@pytest.fixture
def study(importable):
    importable.write_experiment("halves", HALVES)
    return load_experiment(importable.project, "halves")


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("half", None, r"^`experiment: half` is not a module .* Did you mean 'halves'\? Kno"),
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
    with refused(words):
        load_experiment(importable.project, name)


def test_a_package_without_experiments(importable):
    with refused(r"not a module of toypkg.experiments. Known: none."):
        load_experiment(importable.project, "halves")


def test_a_point_that_is_no_plan_is_named(study):
    read_plan(study, {"n": 1})
    words = r"^{'n': '2'} is not a plan of toypkg.experiments.halves: `n` should be a valid integer"
    with refused(words):
        read_plan(study, {"n": "2"})


def test_files_are_declared_by_the_module_and_by_fields_of_the_plan(study, importable):
    assert declared_inputs(study, None) == []
    importable.write_experiment("reads", 'INPUTS, FILES = ("n",), ("a.txt",)\n' + HALVES)
    reads = load_experiment(importable.project, "reads")
    for given, named in (
        ("b.txt", ["b.txt"]),
        (None, []),
        (["b.txt", "", "c.txt"], ["b.txt", "c.txt"]),
        ("pydoc_data.topics", []),
        (["pydoc_data.none", "json", "no.such"], ["pydoc_data.none", "json", "no.such"]),
    ):
        plan = type("Other", (), {"n": given})
        assert declared_inputs(reads, plan) == ["a.txt", *named]
    importable.write_experiment("lists", 'INPUTS = ("m",)\n' + HALVES)
    lists = load_experiment(importable.project, "lists")
    with refused(r"lists: `INPUTS` lists 'm', which is not a field of"):
        declared_inputs(lists, read_plan(lists, {"n": 3}))

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.sweeps.worker_environment import (
    Requirements,
    differences,
    digest,
    environment,
    requirements_of,
)


def test_every_source_of_a_package_counts_and_the_end_of_its_lines_does_not(importable):
    before = environment(Requirements(("toypkg",), ("numpy",)))
    assert {"toypkg/half.py", "toypkg/two.py", "numpy", "Python"} <= set(before)
    two = importable.project.package / "two.py"
    two.write_bytes(two.read_bytes().replace(b"\n", b"\r\n"))
    assert environment(Requirements(("toypkg",), ("numpy",))) == before
    two.write_text("TWO = 3\n")
    after = environment(Requirements(("toypkg",), ("numpy",)))
    assert digest(after) != digest(before)
    assert differences(before, after) == "toypkg/two.py"


def test_differences_name_the_first_few():
    ours = {"numpy": "2.1", "a/b.py": "1", "a/c.py": "1", "a/d.py": "1"}
    assert differences(ours, {**ours, "numpy": "2.0"}) == "numpy 2.0 instead of 2.1"
    assert differences(ours, {}) == "a/b.py, a/c.py, a/d.py and 1 more"
    assert differences(ours, {**ours, "scipy": "1"}) == "scipy 1 instead of none"


def test_a_package_that_is_not_there_is_named():
    with pytest.raises(WorkflowError, match=r"^the package 'no_such' is not installed there$"):
        environment(Requirements(("no_such",)))


def test_variables_that_tasks_may_read_are_compared_without_being_shown(monkeypatch):
    required = Requirements(variables=("SCALE", "NOT_SET"))
    monkeypatch.setenv("SCALE", "a secret")
    ours = environment(required)
    assert set(ours) == {"Python", "the variable SCALE"}
    monkeypatch.setenv("SCALE", "2")
    assert "secret" not in (words := differences(ours, environment(required)))
    assert words.startswith("the variable SCALE with the hash ")
    monkeypatch.delenv("SCALE")
    assert differences(ours, environment(required)).startswith(
        "the variable SCALE missing instead of"
    )


def test_a_worker_is_asked_for_the_packages_libraries_and_variables_of_a_book(toy):
    assert requirements_of(toy.project).packages == ("ntpcompanion", "toypkg")
    assert "numpy" in requirements_of(toy.project).libraries

"""A cluster of others: would it give the same numbers, and are its workers still there?"""

from types import SimpleNamespace

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.sweeps.cluster import (
    LOST,
    NEVER,
    QUIET,
    Presence,
    Required,
    differences,
    environment,
)


@pytest.fixture
def watched():
    """A cluster as it is asked whether it has workers: what it answers, the clock and the notes."""
    found = SimpleNamespace(workers={}, now=0.0, notes=[])

    def sync(*_, **__):
        if isinstance(found.workers, Exception):
            raise found.workers
        return {"workers": {name: {"last_seen": seen} for name, seen in found.workers.items()}}

    client = SimpleNamespace(sync=sync, scheduler=SimpleNamespace(identity=None))
    presence = Presence(client, "tcp://a:1", lambda: found.now)
    found.check = lambda: presence.check(found.notes.append)
    return found


def test_a_worker_that_leaves_is_told_at_once_and_waited_for_a_minute(watched):
    watched.workers = {"w": 1}
    watched.check()
    assert watched.notes == []
    watched.workers = {}
    watched.check()
    assert watched.notes[0].startswith("No worker is on tcp://a:1 now. The tasks wait for one, for")
    watched.workers, watched.now = {"v": 2}, LOST - 1
    watched.check()
    assert watched.notes[1] == "A worker is on tcp://a:1: the tasks go on."
    watched.workers = {}
    watched.check()
    watched.now += LOST + 1
    with pytest.raises(WorkflowError, match=rf"^No worker has been on tcp://a:1 for {LOST:.0f} s"):
        watched.check()


def test_a_worker_that_gives_no_sign_of_life_is_lost(watched):
    watched.workers = {"w": 1}
    for now, notes in ((0, 0), (QUIET - 1, 0), (QUIET + 1, 1)):
        watched.now = now
        watched.check()
        assert len(watched.notes) == notes


def test_a_cluster_that_grows_when_it_sees_tasks_is_waited_for(watched):
    watched.check()
    watched.now = LOST + 1
    watched.check()
    assert len(watched.notes) == 1
    watched.now = NEVER + 1
    with pytest.raises(WorkflowError, match=r"Start workers, and run the same command again"):
        watched.check()


def test_a_scheduler_that_is_gone_is_named(watched):
    watched.workers = OSError("gone")
    with pytest.raises(WorkflowError, match=r"on tcp://a:1 was lost \(OSError: gone\). The same"):
        watched.check()


def test_every_source_of_a_package_counts_and_the_end_of_its_lines_does_not(importable):
    before = environment(Required(("toypkg",), ("numpy",)))
    assert {"toypkg/half.py", "toypkg/two.py", "numpy", "Python"} <= set(before)
    two = importable.project.package / "two.py"
    two.write_bytes(two.read_bytes().replace(b"\n", b"\r\n"))
    assert environment(Required(("toypkg",), ("numpy",))) == before
    two.write_text("TWO = 3\n")
    after = environment(Required(("toypkg",), ("numpy",)))
    assert differences(before, after) == "toypkg/two.py"


def test_differences_name_the_first_few():
    ours = {"numpy": "2.1", "a/b.py": "1", "a/c.py": "1", "a/d.py": "1"}
    assert differences(ours, {**ours, "numpy": "2.0"}) == "numpy 2.0 instead of 2.1"
    assert differences(ours, {}) == "a/b.py, a/c.py, a/d.py and 1 more"
    assert differences(ours, {**ours, "scipy": "1"}) == "scipy 1 instead of none"


def test_a_package_that_is_not_there_is_named():
    with pytest.raises(WorkflowError, match=r"^the package 'no_such' is not installed there$"):
        environment(Required(("no_such",)))


def test_variables_that_tasks_may_read_are_compared_without_being_shown(monkeypatch):
    required = Required(variables=("SCALE", "NOT_SET"))
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
    required = Required.by(toy.project)
    assert required.packages == ("ntpcompanion", "toypkg")
    assert "numpy" in required.libraries

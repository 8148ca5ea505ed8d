"""A cluster of others: are its workers still there?"""

from types import SimpleNamespace

import pytest

from ntpcompanion.workflow.sweeps.cluster import LOST, NEVER, Presence
from tests.refusing import refused


@pytest.fixture
def watched():
    """A cluster as it is asked whether it has workers: what it answers, the clock and the notes."""
    found = SimpleNamespace(workers={}, now=0.0, notes=[])

    def sync(*_, **__):
        if isinstance(found.workers, Exception):
            raise found.workers
        return {"workers": found.workers}

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
    with refused(rf"^No worker has been on tcp://a:1 for {LOST:.0f} s"):
        watched.check()


def test_a_cluster_that_grows_when_it_sees_tasks_is_waited_for(watched):
    watched.check()
    watched.now = LOST + 1
    watched.check()
    assert len(watched.notes) == 1
    watched.now = NEVER + 1
    with refused(r"Start workers, and run the same command again"):
        watched.check()


def test_a_scheduler_that_is_gone_is_named(watched):
    watched.workers = OSError("gone")
    with refused(r"on tcp://a:1 was lost \(OSError: gone\). The same"):
        watched.check()

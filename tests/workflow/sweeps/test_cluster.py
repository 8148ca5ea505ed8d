"""The event loop of a cluster; what clusters do is tested in test_tasks.py and test_sweep.py."""

import threading
from concurrent.futures import Future

import pytest

from ntpcompanion.workflow.sweeps import cluster


def test_a_loop_runs_in_a_thread_of_its_own_until_it_is_left():
    answer = Future()
    with cluster.running_loop() as loop:
        loop.add_callback(lambda: answer.set_result(threading.current_thread()))
        thread = answer.result(timeout=60)
        assert thread is not threading.current_thread()
    assert not thread.is_alive()


def test_a_loop_that_cannot_start_says_why(monkeypatch):
    def rejected(task):
        task.close()
        raise OSError("too many open files")

    monkeypatch.setattr(cluster.asyncio, "run", rejected)
    with pytest.raises(OSError, match="too many open files"), cluster.running_loop():
        pass

"""The order in which tasks begin."""

import threading
import time
from functools import partial

from ntpcompanion.workflow.sweeps.executors import as_completed, processes
from ntpcompanion.workflow.sweeps.targets import Point
from tests.waiting import wait_for


def tasks(call, count):
    return [
        Point({"number": number}, {}, str(number), partial(call, number)) for number in range(count)
    ]


def test_a_task_begins_when_an_outcome_has_been_given_back():
    """Otherwise a kill would lose what has been finished, and it would be made twice."""
    begun = []

    def noted(number, lifeline):
        begun.append(number)
        return {"result": number}

    with processes(2) as two:
        for given, (task, outcome) in enumerate(as_completed(two, tasks(noted, 8))):
            assert outcome["state"] == "done", outcome["traceback"]
            assert outcome["result"] == task.overrides["number"]
            wait_for(lambda given=given: len(begun) >= min(given + 2, 8))
            time.sleep(0.05)
            assert len(begun) <= given + 2
    assert sorted(begun) == list(range(8))


def test_no_more_tasks_begin_after_a_stop_and_what_runs_ends():
    first, ends = threading.Event(), []

    def waits(number, lifeline):
        first.wait(60)
        return {"result": number}

    with processes(2) as two:
        threading.Timer(0.1, first.set).start()
        for _, outcome in as_completed(two, tasks(waits, 9), stopped=lambda: bool(ends)):
            ends.append(outcome["result"])
    assert sorted(ends) == [0, 1]


def test_what_a_task_raises_is_a_row():
    def ends(number, lifeline):
        raise SystemExit("no end of a task")

    with processes(1) as one:
        ((_, outcome),) = as_completed(one, tasks(ends, 1))
    assert (outcome["state"], outcome["error"]) == ("failed", "SystemExit: no end of a task")
    assert "raise SystemExit" in outcome["traceback"]

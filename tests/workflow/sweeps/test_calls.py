"""The order in which calls begin."""

import threading
import time

from ntpcompanion.workflow.sweeps.calls import Call, Calls, Threads, engine
from tests.waiting import wait_for


def test_a_call_begins_when_an_outcome_has_been_given_back():
    """Otherwise a kill would lose what has been finished, and it would be made twice."""
    begun = []

    def noted(number, lifeline):
        begun.append(number)
        return number

    todo = [Call(noted, (number,), {"number": number}) for number in range(8)]
    with Threads(2) as two:
        for given, (call, outcome) in enumerate(Calls(two, todo)):
            assert (outcome.state, outcome.result) == ("done", call.arguments[0]), outcome.traceback
            wait_for(lambda given=given: len(begun) >= min(given + 2, 8))
            time.sleep(0.05)
            assert len(begun) <= given + 2
    assert sorted(begun) == list(range(8))


def test_no_more_calls_begin_after_a_stop_and_what_runs_ends(toy):
    first, ends = threading.Event(), []

    def waits(number, lifeline):
        first.wait(60)
        return number

    with engine(9, jobs=2, project=toy.project, scheduler=None) as two:
        calls = Calls(two, [Call(waits, (number,), {}) for number in range(9)])
        outcomes = iter(calls)
        threading.Timer(0.1, first.set).start()
        ends.append(next(outcomes)[1].result)
        calls.stop()
        ends += [outcome.result for _, outcome in outcomes]
    assert sorted(ends) == [0, 1]


def test_what_a_call_raises_is_a_row():
    def ends(number, lifeline):
        raise SystemExit("no end of a task")

    with Threads(1) as one:
        ((_, outcome),) = Calls(one, [Call(ends, (0,), {})])
    assert (outcome.state, outcome.error) == ("failed", "SystemExit: no end of a task")
    assert "raise SystemExit" in outcome.traceback

"""The order in which calls begin, and that none waits for a process that will not come."""

import json
import time
from unittest import mock

import pytest
from distributed import Client

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.sweeps import calls
from ntpcompanion.workflow.sweeps.cluster import Workers, local_workers
from tests.drills.test_kills import wait_for

NOTED = """
import json, os

def noted(number):
    with open("log.jsonl", "a") as file:
        file.write(json.dumps(["begun", number, os.getpid()]) + "\\n")
"""


def test_a_process_begins_a_call_when_its_last_outcome_has_been_given_back(importable):
    """Otherwise a kill would lose what the process has finished, and it would be made twice."""
    project = importable.project
    (project.package / "noted.py").write_text(NOTED)
    log = project.root / "log.jsonl"
    from toypkg.noted import noted

    def lines():
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def begun():
        return sum(kind == "begun" for kind, *_ in lines())

    todo = [calls.Call(noted, (number,), {"number": number}) for number in range(8)]
    with local_workers(2, project, project.root / "opened.log") as workers:
        for given, (call, outcome) in enumerate(calls.Calls(workers, todo)):
            assert outcome.state == "done", outcome.traceback
            # the other process has ended its call, too, when the next one is asked for
            wait_for(lambda given=given: begun() >= min(given + 2, 8))
            time.sleep(0.2)
            with log.open("a") as file:
                file.write(json.dumps(["given", *call.arguments, 0]) + "\n")

    last, given = {}, set()
    for kind, number, process in lines():
        if kind == "given":
            given.add(number)
        else:
            assert last.get(process, number) in given | {number}
            last[process] = number
    assert given == set(range(8))
    assert len(last) == 2


def test_a_machine_that_replaces_no_process_is_an_error_and_not_an_end():
    client = mock.create_autospec(Client, instance=True)
    client.wait_for_workers.side_effect = TimeoutError
    client.nthreads.return_value = {}
    workers = Workers(client, "this machine", attempts=2, window=1)
    with pytest.raises(WorkflowError, match=r"No process is left on this machine: .*60 s"):
        list(calls.Calls(workers, [calls.Call(print, (), {})]))

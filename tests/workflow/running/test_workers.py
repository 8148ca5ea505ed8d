"""Workers of a toy project: each a process of its own, and none outlives the command."""

import shutil
import threading
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from ntpcompanion.workflow.base.processes import Lifeline, run
from ntpcompanion.workflow.running.job import Done, Failed, parse
from ntpcompanion.workflow.running.surroundings import surroundings_of
from tests.waiting import LIMIT, ended, wait_for
from tests.workflow.running.test_worker import KERNEL, job_of


@pytest.fixture
def started(toy):
    """A function: run cells in a worker of the toy project; how it ended, what it said, and what
    the last cell printed.
    """

    def work(lifeline, code):
        scratch = toy.project.build / f"tmp/{time.monotonic_ns()}"
        cells = [new_code_cell("n = 1", metadata={"tags": ["parameters"]}), new_code_cell(code)]
        scratch.mkdir(parents=True)
        job = job_of(
            scratch,
            notebook=nbformat.writes(new_notebook(cells=cells, metadata=KERNEL)),
            folder=str(toy.project.root),
            import_path=[str(toy.project.root)],
            cell_timeout=None,
        )
        said = []
        command = job.write(scratch / "job.json")
        environment = surroundings_of(toy.project).environment
        end = run(command, environment=environment, lifeline=lifeline, each_line=said.append)
        shutil.rmtree(job.sockets, ignore_errors=True)  # as the runner does
        printed = ""
        if Path(job.output).exists():
            printed = nbformat.read(job.output, as_version=4).cells[-1].outputs[0].text
        return end, [message for line in said if (message := parse(line))], printed.split()

    work.project = toy.project
    return work


@pytest.mark.parametrize("victim", ["kernel", pytest.param("worker", marks=pytest.mark.slow)])
def test_after_a_process_was_killed_the_next_worker_runs(started, victim):
    number = {"kernel": "os.getpid()", "worker": "os.getppid()"}[victim]
    with Lifeline() as lifeline:
        end, said, _ = started(
            lifeline, f"import os\nprint('cut', end='')\nos.kill({number}, 9)\ninput()"
        )
        assert end.code == (1 if victim == "kernel" else -9)
        assert isinstance(said[-1], Failed) == (victim == "kernel")
        end, said, printed = started(lifeline, "import sys; print(sys.stdin.read() == '')")
        assert (end.code, type(said[-1]), printed) == (0, Done, ["True"]), end.errors


def test_standard_error_is_that_of_the_worker(started):
    code = "import os, time\n_ = os.write(2, b'about {}'); print(); time.sleep(1); os._exit({})"
    with Lifeline() as lifeline:
        for number in (1, 2):
            ended, said, _ = started(lifeline, code.format(number, number))
            assert ended.code == 1
            assert f"about {number}" in ended.errors
            assert f"about {3 - number}" not in ended.errors
            assert "died" in said[-1].error


def test_cut_ends_what_was_started(started):
    pids = started.project.root / "pids"
    code = (
        f"import os, time\nopen({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{os.getppid()}}\\n')\n"
        "time.sleep(600)"
    )
    found = []
    with Lifeline() as lifeline:
        thread = threading.Thread(target=lambda: found.append(started(lifeline, code)[0]))
        thread.start()
        wait_for(lambda: pids.exists() and pids.read_text().endswith("\n"))
        lifeline.cut()
        thread.join(LIMIT)
    assert found
    assert found[0].code != 0
    wait_for(lambda: all(ended(int(pid)) for pid in pids.read_text().split()))

"""Workers of a toy project: forked of a server, and started anew as on systems where a fork is not
safe.
"""

import signal
import threading
import time
from pathlib import Path

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from ntpcompanion.workflow.base.files import sha256
from ntpcompanion.workflow.base.messages import Done, Failed, heard
from ntpcompanion.workflow.running import workers
from ntpcompanion.workflow.running.job import Job
from ntpcompanion.workflow.running.workers import FORKS, Workers, lasting_workers
from tests.waiting import LIMIT, ended, wait_for

LINUX = pytest.mark.skipif(not FORKS, reason="workers are forked on Linux")
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


@pytest.fixture
def started(toy):
    """A function: run cells in a worker of the toy project; how it ended, what it said, and what
    the last cell printed.
    """

    def run(crew, code, libraries=(), listen=lambda line: None):
        scratch = toy.project.build / f"tmp/{time.monotonic_ns()}"
        cells = [
            new_code_cell("n = 1", metadata={"tags": ["parameters"]}),
            new_code_cell(code),
        ]
        job = Job(
            notebook=nbformat.writes(new_notebook(cells=cells, metadata=KERNEL)),
            parameters={},
            root=str(toy.project.root),
            watched=[str(toy.project.root)],
            cell_timeout=None,
            output=str(scratch / "executed.ipynb"),
        )
        said = []

        def hear(line):
            said.append(line)
            listen(line)

        end = crew.run(job.write(scratch / "job.json"), libraries, hear)
        printed = ""
        if Path(job.output).exists():
            printed = nbformat.read(job.output, as_version=4).cells[-1].outputs[0].text
        return end, [message for line in said if (message := heard(line))], printed.split()

    run.project = toy.project
    return run


ASKED = """import os, sys, numpy as np, toypkg.two
print(os.getppid(), toypkg.two.TWO, np.random.random(), os.getcwd(), "torch" in sys.modules,
      "ntpcompanion" in sys.modules, sys.stdin.read() == "", os.environ.get("SEEN"))"""


@pytest.mark.parametrize(
    "forks", [pytest.param(True, marks=LINUX), pytest.param(False, marks=pytest.mark.slow)]
)
def test_workers_one_after_the_other_share_nothing_but_what_is_loaded(started, monkeypatch, forks):
    monkeypatch.setattr(workers, "FORKS", forks)
    root = started.project.root
    with Workers(started.project) as crew:
        ended, said, first = started(crew, ASKED, ["numpy.random"])
        assert (ended.code, type(said[-1])) == (0, Done), ended.errors
        # libraries are loaded once; a module of the project is read by every kernel
        (started.project.package / "two.py").write_text("TWO = 5\n")
        code = f"{ASKED}\nos.environ['SEEN'] = '1'"
        ended, said, second = started(
            crew, code, ["numpy.random", "json.tool", "no.module", "this"]
        )
        third = started(crew, ASKED)[2]
    assert [each[1] for each in (first, second, third)] == ["2", "5", "5"]
    assert said[-1].read[str(started.project.package / "two.py")] == [sha256("TWO = 5\n")]
    assert len({each[0] for each in (first, second, third)}) == 3, "a worker for each"
    assert len({each[2] for each in (first, second, third)}) == 3, "drawn apart without a seed"
    assert {tuple(each[3:]) for each in (first, second, third)} == {
        (str(root), "False", "False", "True", "None")
    }


@pytest.mark.slow
@LINUX
def test_what_libraries_read_of_the_project_while_they_are_loaded_is_noted_by_every_kernel(started):
    settings = started.project.root / "matplotlibrc"
    settings.write_text("lines.linewidth: 7\n")
    code = "import matplotlib\nprint(matplotlib.rcParams['lines.linewidth'])"
    with Workers(started.project) as crew:
        for _ in range(2):
            _, said, printed = started(crew, code, ["matplotlib.pyplot"])
            assert printed == ["7.0"]
            assert said[-1].read[str(settings)] == [sha256(settings.read_bytes())]


@LINUX
@pytest.mark.parametrize(
    "victim",
    ["worker", *(pytest.param(name, marks=pytest.mark.slow) for name in ("kernel", "server"))],
)
def test_after_a_process_was_killed_the_next_worker_runs(started, victim):
    number = {"kernel": "os.getpid()", "worker": "os.getppid()"}.get(
        victim, "psutil.Process(os.getppid()).ppid()"
    )
    with Workers(started.project) as crew:
        servers = {started(crew, ASKED)[2][0]}
        ended, said, _ = started(
            crew, f"import os, psutil, sys\nprint('cut', end='')\nos.kill({number}, 9)\ninput()"
        )
        assert ended.code == (1 if victim == "kernel" else -9)
        assert isinstance(said[-1], Failed) == (victim == "kernel")
        ended, said, printed = started(crew, ASKED)
        assert (ended.code, type(said[-1])) == (0, Done), ended.errors
        assert printed[0] not in servers
        assert len(crew._servers) == (2 if victim == "server" else 1)


def test_standard_error_is_that_of_the_worker(started):
    code = "import os\n_ = os.write(2, b'about {}'); print(); os._exit({})"
    with Workers(started.project) as crew:
        for number in (1, 2):
            ended, said, _ = started(crew, code.format(number, number))
            assert ended.code == 1
            assert f"about {number}" in ended.errors
            assert f"about {3 - number}" not in ended.errors
            assert "died" in said[-1].error


@pytest.mark.parametrize("forks", [pytest.param(True, marks=LINUX), False])
def test_cut_ends_what_was_started(started, monkeypatch, forks):
    monkeypatch.setattr(workers, "FORKS", forks)
    pids = started.project.root / "pids"
    code = (
        f"import os, time\nopen({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{os.getppid()}}\\n')\n"
        "time.sleep(600)"
    )
    found = []
    with Workers(started.project) as crew:
        thread = threading.Thread(target=lambda: found.append(started(crew, code)[0]))
        thread.start()
        wait_for(lambda: pids.exists() and pids.read_text().endswith("\n"))
        crew.cut()
        thread.join(LIMIT)
    assert found
    assert found[0].code != 0
    wait_for(lambda: all(ended(int(pid)) for pid in pids.read_text().split()))


@LINUX
def test_cut_does_not_wait_for_libraries_that_are_being_loaded(started):
    found = []
    with Workers(started.project) as crew:
        thread = threading.Thread(
            target=lambda: found.append(started(crew, "", ["torch._dynamo"])[0])
        )
        thread.start()
        wait_for(lambda: crew._servers)
        crew.cut()
        thread.join(LIMIT)
    assert [ended.code for ended in found] == [-signal.SIGTERM]


def test_what_a_listener_raises_ends_the_worker(started):
    class Bored(Exception):
        """Enough heard."""

    def listen(line):
        raise Bored

    with Workers(started.project) as crew, pytest.raises(Bored):
        started(crew, "import time; time.sleep(600)", listen=listen)


@pytest.mark.parametrize("forks", [pytest.param(True, marks=LINUX), False])
def test_after_the_cut_nothing_begins(started, monkeypatch, forks):
    monkeypatch.setattr(workers, "FORKS", forks)
    with Workers(started.project) as crew:
        crew.cut()
        end, said, printed = started(crew, ASKED)
    assert end.code != 0
    assert (said, printed) == ([], [])


@LINUX
def test_what_a_cell_leaves_running_is_not_waited_for(started):
    left = (
        "import os, time\npid = os.fork()\nif not pid:\n    os.setsid()\n    time.sleep(600)\n"
        "print(pid)"
    )
    with Workers(started.project) as crew:
        end, said, (pid,) = started(crew, left)
    assert (end.code, type(said[-1])) == (0, Done), end.errors
    psutil.Process(int(pid)).kill()


def test_lasting_workers_are_the_same_ones_until_they_are_cut(toy):
    first = lasting_workers(toy.project)
    with first:
        assert lasting_workers(toy.project) is first
    second = lasting_workers(toy.project)
    with second:
        assert second is not first
        assert not second.is_cut

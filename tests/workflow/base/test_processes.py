"""Programs that are started, given up and ended: all of them real processes."""

import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import psutil
import pytest

from ntpcompanion.workflow.base import processes
from ntpcompanion.workflow.base.processes import Ended, Lifeline, run
from tests.waiting import ended, wait_for

POSIX = pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
WAITS = """import time
from ntpcompanion.workflow.base.processes import end_with_parent
end_with_parent()
time.sleep(100)
"""


def python(code, **options):
    return run([sys.executable, "-c", code], **options)


def test_what_a_program_wrote_and_how_it_ended(tmp_path):
    code = "import os, sys; print(os.environ['A'], os.getcwd()); sys.exit('no →')"
    environment = {**os.environ, "A": "1", "PYTHONUTF8": "1"}
    ended = python(code, environment=environment, folder=tmp_path)
    assert ended == Ended(1, f"1 {tmp_path}\n", "no →\n")
    assert python("import sys; sys.stdout.buffer.write(b'\\xff')") == Ended(0, "\ufffd", "")


@POSIX
def test_a_program_that_takes_too_long_is_ended_with_what_it_started(tmp_path):
    script = "sleep 100 & echo $! > pid; wait"
    with pytest.raises(TimeoutError, match=r"no answer within 0\.5 s"):
        run(["sh", "-c", script], folder=tmp_path, limit=0.5)
    wait_for(lambda: ended(int((tmp_path / "pid").read_text())))


@POSIX
def test_what_a_program_leaves_behind_keeps_nobody_waiting():
    began = time.monotonic()
    done = run(["sh", "-c", "sleep 100 & echo $!"])
    assert time.monotonic() - began < 10
    psutil.Process(int(done.output)).kill()


def test_programs_end_when_the_lifeline_that_they_share_is_cut():
    open_before = len(psutil.Process().open_files()), threading.active_count()
    with Lifeline() as lifeline:
        command = [sys.executable, "-c", WAITS]
        programs = [subprocess.Popen(command, stdin=lifeline.stdin) for _ in range(2)]
        time.sleep(0.3)
        assert [program.poll() for program in programs] == [None, None]
        lifeline.cut()
        assert [program.wait(20) for program in programs] == [1, 1]
    assert (len(psutil.Process().open_files()), threading.active_count()) == open_before
    assert lifeline.stdin.closed


def test_a_kernel_that_ends_while_it_is_being_ended_is_no_fault(monkeypatch):
    def vanish():
        raise psutil.NoSuchProcess(1)

    def look(process, recursive):
        deadline = time.monotonic() + 60
        while process.status() != psutil.STATUS_STOPPED:
            assert time.monotonic() < deadline, "it could still start another"
        return [SimpleNamespace(kill=vanish)]

    monkeypatch.setattr(psutil.Process, "children", look)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"]) as worker:
        processes.end_tree(worker)
        assert worker.wait(10) != 0

"""Programs that are started, heard, given up and ended: all of them real processes."""

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
WAITS = """
import sys, time
from ntpcompanion.workflow.base.processes import end_with_parent
end_with_parent(grace={grace})
try:
    print("waits", flush=True)
    while True:
        time.sleep(0.05)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    time.sleep({cleaning})
"""


def python(code, **options):
    return run([sys.executable, "-c", code], **options)


def test_what_a_program_wrote_and_how_it_ended(tmp_path):
    code = "import os, sys; print(os.environ['A'], os.getcwd()); sys.exit('no →')"
    environment = {**os.environ, "A": "1", "PYTHONUTF8": "1"}
    ended = python(code, environment=environment, folder=tmp_path)
    assert ended == Ended(1, f"1 {tmp_path}\n", "no →\n")
    assert python("import sys; sys.stdout.buffer.write(b'\\xff')") == Ended(0, "\ufffd", "")


def test_lines_are_heard_as_they_come_and_errors_kept():
    came = []
    code = (
        "import sys, time\nfor k in range(2):\n    print(k, flush=True)\n    time.sleep(.3)\n"
        "print('e' * 10**6, file=sys.stderr)"
    )
    ended = python(code, each_line=lambda line: came.append((line, time.monotonic())))
    assert [line for line, _ in came] == ["0\n", "1\n"]
    assert came[1][1] - came[0][1] > 0.2
    assert ended == Ended(0, "", "e" * 10**6 + "\n")


@POSIX
def test_a_program_that_takes_too_long_is_ended_with_what_it_started(tmp_path):
    script = "sleep 100 & echo $! > pid; wait"
    with pytest.raises(TimeoutError, match=r"no answer within 0\.5 s"):
        run(["sh", "-c", script], folder=tmp_path, limit=0.5)
    wait_for(lambda: ended(int((tmp_path / "pid").read_text())))


@POSIX
def test_a_listener_that_raises_ends_the_program():
    heard = []

    def reject(line):
        heard.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", "echo $$; sleep 100"], each_line=reject)
    wait_for(lambda: ended(heard[0]))


@POSIX
def test_what_a_program_leaves_behind_keeps_nobody_waiting():
    began = time.monotonic()
    done = run(["sh", "-c", "sleep 100 & echo $!"])
    assert time.monotonic() - began < 10
    psutil.Process(int(done.output)).kill()


@pytest.mark.parametrize(
    ("grace", "cleaning", "said"),
    [(0, 0, ""), (20, 0, "interrupted\n"), (0.2, 100, "interrupted\n")],
)
def test_a_program_ends_when_its_lifeline_is_cut(grace, cleaning, said):
    lines = []
    with Lifeline() as lifeline:

        def hear(line):
            lines.append(line)
            lifeline.cut()

        done = python(
            WAITS.format(grace=grace, cleaning=cleaning), lifeline=lifeline, each_line=hear
        )
    assert "".join(lines) == "waits\n" + said
    assert done.code == (1 if cleaning or not grace else 0), done.errors


def test_several_programs_share_a_lifeline_which_leaves_nothing_open():
    open_before = len(psutil.Process().open_files()), threading.active_count()
    codes = []
    with Lifeline() as lifeline:
        code = "import os; print(1, flush=True); os.read(0, 1)"
        waiting = [
            threading.Thread(target=lambda: codes.append(python(code, lifeline=lifeline).code))
            for _ in range(2)
        ]
        for thread in waiting:
            thread.start()
        time.sleep(0.3)
        assert codes == []
        lifeline.cut()
        for thread in waiting:
            thread.join(10)
    assert codes == [0, 0]
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

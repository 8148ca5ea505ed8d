"""One task in an interpreter of its own, without a cluster."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ntpcompanion.workflow.base.tracing import state_of
from ntpcompanion.workflow.hashing.imported_files import source_hashes
from ntpcompanion.workflow.sweeps.executors import KILLED, NotDone
from ntpcompanion.workflow.sweeps.task_process import run_experiment, settings_of
from tests.waiting import ended, wait_for

MODULE = "toypkg.experiments.several"
SEVERAL = """
import atexit, os, pathlib, sys, time

FILES = ("words.txt",)
STATE = []

def run(plan, checkpoint):
    STATE.append(plan.n)
    if plan.n == 1:
        atexit.register(print, "at exit")
    if plan.n == 2:
        os.kill(os.getpid(), 9)
    if plan.n == 3:
        sys.exit("no end of a task")
    if plan.n == 4:
        with (ROOT / "toypkg/experiments/several.py").open("a") as file:
            file.write("# edited")
    if plan.n == 5:
        (ROOT / "pid").write_text(str(os.getpid()))
        os.rename(ROOT / "pid", ROOT / "waits")
        time.sleep(600)
    known = [path.name for path in checkpoint.iterdir()]
    (checkpoint / "step").touch()
    if plan.n == 7:
        (checkpoint / "begun").touch()
        return Result(value=float("nan"))
    if plan.n == 6 and not known:
        scale = float(pathlib.Path("words.txt").read_text() != "")
        os._exit(1)
    return Result(value=[len(STATE), known])
"""


@pytest.fixture
def several(importable):
    """A function: the experiment run at n."""
    importable.write_experiment("several", SEVERAL)
    project = importable.project
    place = project.build / "records" / "several" / "task"

    def run(n):
        planned = source_hashes(f"import {MODULE}", *project.packages), settings_of(project)
        return run_experiment(project, MODULE, *planned, ["words.txt"], {"n": n}, place=place)

    return run


def test_each_task_begins_with_fresh_modules_and_ends_with_what_it_has_planned(several, capfd):
    for known in ([], ["step"]):
        done = several(1)
        assert done["result"] == {"value": [1, known]}
        assert (done["notes"], list(done["read"])) == ([], ["words.txt"])
        assert capfd.readouterr().out == "at exit\n"
    assert [path.name for path in Path("_build/records/several").iterdir()] == ["task"]


@pytest.mark.parametrize(
    ("n", "state", "words"),
    [
        pytest.param(
            2, "killed", KILLED, marks=pytest.mark.skipif(sys.platform == "win32", reason="signals")
        ),
        (3, "failed", "SystemExit: no end of a task"),
        (
            7,
            "failed",
            "ValueError: what it returned cannot be kept. JSON cannot hold it: Out of range "
            "float values are not JSON compliant. Return numbers that are finite, texts, lists and "
            "dicts of them",
        ),
        (4, "rejected", "has other sources: experiments/several.py"),
    ],
)
def test_a_task_that_does_not_end_well_says_how(several, n, state, words):
    with pytest.raises(NotDone) as caught:
        several(n)
    assert caught.value.outcome["state"] == state
    assert caught.value.outcome["error"] == words


def test_what_was_read_before_a_kill_counts_and_ends_a_checkpoint_when_it_changes(several):
    with pytest.raises(NotDone, match=KILLED):
        several(6)
    done = several(6)
    assert done["result"] == {"value": [1, ["step"]]}
    assert done["read"] == {"words.txt": state_of(Path("words.txt"))}
    Path("words.txt").write_text("others")
    with pytest.raises(NotDone, match=KILLED):  # it begins anew
        several(6)


def test_a_task_ends_with_the_process_that_has_started_it(several, importable):
    project = importable.project
    code = (
        "from pathlib import Path; from ntpcompanion.workflow.base.project import Project\n"
        "from ntpcompanion.workflow.sweeps.task_process import *\n"
        f"project = Project(Path({str(project.root)!r}), Path({str(project.package)!r}))\n"
        f"sources = source_hashes('import {MODULE}', *project.packages)\n"
        "place = project.build / 'task'\n"
        f"planned = {MODULE!r}, sources, settings_of(project)\n"
        "run_experiment(project, *planned, [], {'n': 5}, place=place)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[3]) as starter:
        try:
            wait_for((project.root / "waits").exists)
            task = int((project.root / "waits").read_text())
            assert psutil.Process(task).ppid() == starter.pid
        finally:
            starter.kill()
    wait_for(lambda: ended(task))

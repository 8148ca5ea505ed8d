"""`kill -9` of a run, of its kernel and of a record, then the same command again;
two builds at once.
"""

import contextlib
import json
import signal
from unittest import mock

import psutil
import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from tests.drills.machine import POSIX
from tests.waiting import LIMIT, ended, wait_for

pytestmark = POSIX
IMPORT = "from toypkg.half import half"
SLEEP = f"""{IMPORT}
import time, pathlib
with open("ROOT/started", "a") as file:
    _ = file.write("x")
time.sleep(pathlib.Path("ROOT/slow").exists() * 600)"""


def below(process, word=""):
    """Processes that a command has started, whose command line holds a word."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end while we look
            found += [child] if word in " ".join(child.cmdline()) else []
    return found


def kill(process):
    """`kill -9` of a command alone; what it has started must end by itself."""
    children = below(process)
    assert children
    process.kill()
    process.communicate()
    wait_for(lambda: all(ended(child.pid) for child in children))


def stop(process, said=""):
    """Ctrl-C to a command alone, which has `said` something; what it has started must end with
    it.
    """
    children = below(process)
    assert children
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=LIMIT)[0]
    assert process.returncode == 130
    words = "interrupted. What was finished is kept, nothing is half-written"
    assert output.startswith(said + words), output
    wait_for(lambda: all(ended(child.pid) for child in children))


@pytest.fixture
def slow(toy):
    """The notebook `coin` waits in its second cell as long as the file `slow` is there."""
    toy.edit("notebooks/coin.md", IMPORT, SLEEP.replace("ROOT", str(toy.project.root)))
    (toy.project.root / "slow").touch()
    return toy


@pytest.mark.slow
def test_a_killed_kernel_is_an_error_and_can_be_repeated(slow):
    process = slow.start("execute", "coin")
    wait_for(lambda: (slow.project.root / "started").exists())
    (kernel,) = below(process)
    kernel.kill()
    output = " ".join(process.communicate(timeout=LIMIT)[0].split())
    assert process.returncode == 1
    assert "error: Notebook 'coin' (book), code cell 2: the kernel died" in output
    assert not (slow.project.book / "chapters").exists()
    (slow.project.root / "slow").unlink()
    assert "coin (book): executed" in slow.run("execute", "coin")


@pytest.mark.slow
def test_a_killed_run_leaves_nothing_behind_and_can_be_repeated(slow):
    process = slow.start("execute", "coin")
    wait_for(lambda: (slow.project.root / "started").exists())
    kill(process)
    assert not (slow.project.book / "chapters").exists()
    (slow.project.root / "slow").unlink()
    assert "coin (book): executed" in slow.run("execute", "coin")
    assert not (slow.project.build / "tmp" / "book-coin").exists(), (
        "what the killed run left is gone"
    )


@pytest.mark.slow
def test_an_interrupted_run_ends_its_kernels_at_once_and_can_be_repeated(slow):
    process = slow.start("execute", "--jobs", "1")
    wait_for(lambda: (slow.project.root / "started").exists())
    stop(process, "coin (book): running, 2 code cells\n")  # and the other one never began
    assert not (slow.project.book / "chapters").exists()
    (slow.project.root / "slow").unlink()
    assert slow.command("execute", "coin", "coin").count("coin (book): executed") == 1, (
        "a name that is given twice is one notebook"
    )


@pytest.mark.parametrize("interrupt", [kill, pytest.param(stop, marks=pytest.mark.slow)])
def test_a_killed_or_interrupted_record_resumes_from_its_last_task(toy, interrupt):
    root = toy.project.root
    toy.write_experiment(
        "slow",
        "import pathlib, time\n\n\ndef run(plan, checkpoint):\n    n = plan.n\n    (checkpoint / "
        "'here').write_text(str(n))\n"
        "    with open(ROOT / 'calls', 'a') as file:\n        file.write(f'{n} ')\n"
        "    time.sleep((n == 2 and pathlib.Path(ROOT, 'slow').exists()) * 600)\n"
        "    return Result(value=n)\n",
    )
    plan = {"experiment": "slow", "about": "Waits.", "grid": {"n": [0, 1, 2]}}
    toy.plan_records(slow=plan)
    (root / "slow").touch()
    process = toy.start("record", "slow", "--jobs", "1", PYTHONPATH=str(root))
    calls = root / "calls"
    wait_for(lambda: calls.exists() and "2" in calls.read_text())
    wait_for(
        lambda: (
            '"n": 1'
            in "".join(log.read_text() for log in (toy.project.build / "records").glob("*.jsonl"))
        )
    )
    interrupt(process)
    assert not (toy.project.records / "slow.json").exists()
    (root / "slow").unlink()
    assert "Wrote" in toy.run("record", "slow", "--jobs", "1", PYTHONPATH=str(root))
    assert [
        item["result"]["value"]
        for item in json.loads((toy.project.records / "slow.json").read_text())["results"]
    ] == [0, 1, 2]
    assert calls.read_text().split() == ["0", "1", "2", "2"], "finished tasks are not run again"


@pytest.mark.slow
def test_an_interrupted_sweep_ends_its_notebooks_at_once_and_goes_on(slow):
    arguments = ["sweep", "coin", "--seeds", "0:2", "--jobs", "2"]
    process = slow.start(*arguments)
    wait_for(lambda: (slow.project.root / "started").exists())
    said = "coin-book: 2 runs; 2 to make by 2 processes. How long is known after the first."
    stop(process, f"{said}\n")
    (slow.project.root / "slow").unlink()
    output = slow.run(*arguments)
    assert output.startswith(said), "nothing half-made was kept"
    assert "2 done Wrote" in output


@pytest.mark.slow
def test_a_killed_build_leaves_the_old_site_and_can_be_repeated(executed):
    toy = executed
    toy.command("build")
    page = toy.project.html("book") / "intro.html"
    toy.edit("book/intro.md", "# Intro", "# Another intro")
    process = toy.start("build")
    wait_for(lambda: below(process, "jupyter_book"))
    kill(process)
    assert "Another intro" not in page.read_text()
    assert "Built" in toy.run("build")
    assert "Another intro" in page.read_text()


def test_a_build_that_is_killed_while_it_publishes_leaves_a_site(toy, monkeypatch):
    html = toy.project.html("book")
    # set aside, and the new one was not yet in its place
    html.with_name(".html-old").mkdir(parents=True)
    html.with_name(".html-old").joinpath("index.html").write_text("the old site")
    monkeypatch.setattr(
        "ntpcompanion.workflow.running.execute._in_kernel",
        mock.Mock(side_effect=WorkflowError("a cell fails")),
    )
    assert "a cell fails" in toy.command("build", code=1)
    assert (html / "index.html").read_text() == "the old site"
    assert not html.with_name(".html-old").exists()


@pytest.mark.slow
def test_two_builds_at_once_wait_for_each_other(slow):
    (slow.project.root / "slow").unlink()
    builds = [slow.start("build"), slow.start("build")]
    outputs = [build.communicate(timeout=LIMIT)[0] for build in builds]
    assert [build.returncode for build in builds] == [0, 0], outputs
    assert (slow.project.root / "started").read_text() == "x", "each notebook was executed once"
    assert sorted("Built" in output for output in outputs) == [False, True]

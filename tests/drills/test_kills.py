"""`kill -9` of a run, of its worker, of its kernel and of a record, then the same command again; two builds at once."""

import json
import os
import signal
import time

import psutil
import pytest
import yaml

from tests.drills.machine import POSIX

pytestmark = POSIX
IMPORT = "from toypkg.half import half"
SLEEP = f"""{IMPORT}
import time, pathlib
with open("started", "a") as file:
    _ = file.write("x")
time.sleep(pathlib.Path("slow").exists() * 30)"""


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.05)


def below(process, word):
    """Processes that a command has started, whose command line holds a word."""
    return [child for child in psutil.Process(process.pid).children(recursive=True) if word in " ".join(child.cmdline())]


@pytest.fixture
def slow(toy):
    """The notebook `coin` waits in its second cell as long as the file `slow` is there."""
    toy.edit("notebooks/coin.md", IMPORT, SLEEP)
    (toy.project.root / "slow").touch()
    return toy


@pytest.mark.parametrize("victim", ["ntpcompanion.workflow.worker", "ipykernel_launcher"])
def test_a_killed_worker_or_kernel_is_an_error_and_can_be_repeated(slow, victim):
    process = slow.start("execute", "coin")
    wait_for(lambda: (slow.project.root / "started").exists())
    kernels = below(process, "ipykernel_launcher")
    for killed in below(process, victim):
        killed.kill()
    output = " ".join(process.communicate(timeout=60)[0].split())
    assert process.returncode == 1
    assert "error: Notebook 'coin' (book)" in output
    assert ("its process ended with code -9 in code cell 2" if "worker" in victim else "code cell 2: the kernel died") in output
    wait_for(lambda: not any(kernel.is_running() and kernel.status() != psutil.STATUS_ZOMBIE for kernel in kernels))
    assert not (slow.project.book / "chapters").exists()
    (slow.project.root / "slow").unlink()
    assert "coin (book): executed" in slow.run("execute", "coin")


def test_a_killed_run_leaves_nothing_behind_and_can_be_repeated(slow):
    process = slow.start("execute", "coin")
    wait_for(lambda: (slow.project.root / "started").exists())
    left = below(process, "")
    process.kill()
    process.communicate()
    wait_for(lambda: not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in left))
    assert not (slow.project.book / "chapters").exists()
    (slow.project.root / "slow").unlink()
    assert "coin (book): executed" in slow.run("execute", "coin")
    assert not (slow.project.build / "tmp" / "book-coin").exists(), "what the killed run left is gone"


def test_a_killed_record_resumes_from_its_last_task(toy):
    root = toy.project.root
    (toy.project.package / "study.py").write_text(
        "import pathlib, time\n\n\ndef slow(n, checkpoint):\n    (checkpoint / 'here').write_text(str(n))\n"
        "    with open('calls.txt', 'a') as file:\n        file.write(f'{n} ')\n"
        "    time.sleep((n == 2 and pathlib.Path('slow').exists()) * 30)\n    return n\n"
    )
    plan = {"function": "toypkg.study:slow", "about": "Waits.", "grid": {"n": [0, 1, 2]}}
    (toy.project.records / "plans.yml").write_text(yaml.safe_dump({"slow": plan}))
    (root / "slow").touch()
    process = toy.start("record", "slow", "--jobs", "1", PYTHONPATH=str(root))
    calls = root / "calls.txt"
    wait_for(lambda: calls.exists() and "2" in calls.read_text())
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (toy.project.records / "slow.json").exists()
    (root / "slow").unlink()
    assert "Wrote" in toy.run("record", "slow", "--jobs", "1", PYTHONPATH=str(root))
    assert [item["result"] for item in json.loads((toy.project.records / "slow.json").read_text())["results"]] == [0, 1, 2]
    assert calls.read_text().split() == ["0", "1", "2", "2"], "finished tasks are not run again"


def test_a_killed_build_leaves_the_old_site_and_can_be_repeated(toy):
    toy.command("build")
    page = toy.project.html("book") / "intro.html"
    toy.edit("book/intro.md", "# Intro", "# Another intro")
    process = toy.start("build")
    wait_for(lambda: below(process, "jupyter_book"))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert "Another intro" not in page.read_text()
    assert "Built" in toy.run("build")
    assert "Another intro" in page.read_text()


def test_two_builds_at_once_wait_for_each_other(slow):
    (slow.project.root / "slow").unlink()
    builds = [slow.start("build"), slow.start("build")]
    outputs = [build.communicate(timeout=120)[0] for build in builds]
    assert [build.returncode for build in builds] == [0, 0], outputs
    assert (slow.project.root / "started").read_text() == "x", "each notebook was executed once"
    assert sorted("Built" in output for output in outputs) == [False, True]

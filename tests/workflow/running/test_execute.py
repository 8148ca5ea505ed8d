"""What the runner does with a notebook: with real kernels, and with no process at all."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import nbformat
import psutil
import pytest

from ntpcompanion.workflow.base.processes import Lifeline
from ntpcompanion.workflow.base.tracing import read_events
from ntpcompanion.workflow.running import execute as runner
from ntpcompanion.workflow.running.papermill_run import Cells, Ran
from ntpcompanion.workflow.running.results import Result
from tests.refusing import refused
from tests.waiting import LIMIT, ended, wait_for


@pytest.fixture
def executed(toy):
    outcomes = toy.execute()
    assert {o.status for o in outcomes.values()} == {"done"}, [o.message for o in outcomes.values()]
    return toy


def test_a_run_leaves_a_clean_notebook_and_its_results(executed):
    run = executed.runs(names=["coin"])[0]
    result = Result.load(run.results)
    assert [(m.claim, m.value) for m in result.measurements] == [
        ("toy.half", 0.5),
        ("toy.powers", (1.0, 2.0, 4.0)),
    ]
    assert result.parameters == {"n": 1000, "seed": 0}
    assert result.peak_memory > 2**24
    assert len(result.cell_seconds) == 2
    node = nbformat.read(run.executed, as_version=4)
    nbformat.validate(node)
    text = nbformat.writes(node)
    assert "papermill" not in text
    assert str(executed.project.root) not in text
    assert [
        cell.source for cell in node.cells if "injected-parameters" in cell.metadata.get("tags", [])
    ] == ["n = 1000  # throws\nseed = 0  # of the generator"]


def test_other_profiles_and_overrides_stay_out_of_the_book(toy):
    smoke = toy.runs("smoke", ["coin"])[0]
    custom = toy.runs("book", ["coin"], {"n": 7})[0]
    runner.execute([smoke, custom])
    assert (
        smoke.results.parent
        == custom.results.parent.parent / "smoke"
        == toy.project.build / "runs" / "smoke"
    )
    assert Result.load(smoke.results).parameters["n"] == 10
    assert Result.load(custom.results).overrides == {"n": 7}
    assert custom.executed.name.startswith("coin-")
    assert not (toy.project.book / "chapters").exists()


def test_what_is_fresh_is_kept_and_what_happens_is_reported(instant):
    heard = []

    def execute(**options):
        heard.clear()
        return instant.execute(
            names=["coin"],
            jobs=1,
            report=lambda run, *what: heard.append((run.notebook.name, *what)),
            **options,
        )["coin"]

    ran = [("coin", "cell", 1, 2), ("coin", "cell", 2, 2), ("coin", "done", 2, 2)]
    assert (execute().status, heard) == ("done", ran)
    again = execute()
    assert (again.status, again.seconds, heard) == ("fresh", 0.0, [("coin", "fresh", 2, 2)])
    assert (execute(force=True).status, heard) == ("done", ran)
    instant.edit("toypkg/two.py", "TWO = 2", "TWO = 3")
    assert (execute().status, heard) == ("done", ran)
    assert runner.execute([]) == []
    with refused("`--jobs` must be at least 1, got 0"):
        instant.execute(jobs=0)


def test_what_changes_while_it_is_copied_is_not_run(instant, monkeypatch):
    lay_out = runner.lay_out

    def edit_then_copy(*arguments):
        instant.edit("toypkg/two.py", "TWO = 2", "TWO = 3")
        return lay_out(*arguments)

    monkeypatch.setattr(runner, "lay_out", edit_then_copy)
    outcome = instant.execute(names=["coin"])["coin"]
    assert (outcome.status, outcome.run.results.exists()) == ("failed", False)
    assert "its files or modules changed while they were copied" in outcome.message


def test_scratch_files_are_removed_and_those_of_a_killed_run_too(instant, monkeypatch):
    scratch = instant.project.build / "tmp"
    (scratch / "book-gone").mkdir(parents=True)
    (scratch / "book-gone" / "job.json").touch()
    instant.execute()
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("failure", "words"),
    [(("E: x", "\x1b[31min f\x1b[0m"), "E: x\nin f"), (("E: x", ""), "E: x\nf()")],
    ids=["raised", "no traceback"],
)
def test_how_a_run_failed_is_said(toy, monkeypatch, failure, words):
    node = nbformat.v4.new_notebook()
    ran = Ran(node, Cells(number=1, source="f()"), 0, read_events(Path("none")), failure)
    monkeypatch.setattr(runner, "_in_kernel", lambda *_: ran)
    heard = []
    outcome = toy.execute(names=["coin"], report=lambda run, *what: heard.append(what))["coin"]
    assert outcome.message == f"Notebook 'coin' (book), code cell 1: {words}"
    assert heard == [("failed", 0, 2)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs `os.fork`")
def test_what_a_cell_leaves_running_is_not_waited_for(toy):
    left = "import os, time\npid = os.fork()\nif not pid:\n    os.setsid()\n    time.sleep(600)\n"
    left += "open('pid', 'w').write(str(pid))\nfrom toypkg.half import half"
    toy.edit("notebooks/coin.md", "from toypkg.half import half", left)
    outcome = toy.execute(names=["coin"])["coin"]
    assert outcome.status == "done", outcome.message
    pid = outcome.run.stem.with_name("coin-files") / "pid"
    psutil.Process(int(pid.read_text())).kill()


def test_cut_ends_what_was_started(toy):
    pid = toy.project.root / "pid"
    place = tuple(pid.parts)  # not as one text, which would be the name of a place
    code = f"import os, pathlib, time\npid = pathlib.Path(*{place})\n"
    code += "_ = pid.write_text(f'{os.getpid()}\\n')\ntime.sleep(600)\n"
    toy.edit("notebooks/coin.md", "from toypkg.half", f"{code}from toypkg.half")
    found = []
    with Lifeline() as lifeline:
        options = {"names": ["coin"], "lifeline": lifeline}
        thread = threading.Thread(target=lambda: found.append(toy.execute(**options)["coin"]))
        thread.start()
        wait_for(lambda: pid.exists() and pid.read_text().endswith("\n"))
        lifeline.cut()
        thread.join(LIMIT)
    assert found[0].status == "failed"
    wait_for(lambda: ended(int(pid.read_text())))


def test_each_run_is_told_as_it_ends_not_when_all_have_ended(instant, monkeypatch):
    first_told, told, waited = threading.Event(), [], []
    work = runner._in_kernel

    def second_waits(run, *given):
        if run.notebook.name == "words":
            waited.append(first_told.wait(60))
        return work(run, *given)

    def ended(outcome):
        told.append(outcome.run.notebook.name)
        first_told.set()

    monkeypatch.setattr(runner, "_in_kernel", second_waits)
    instant.execute(jobs=1, ended=ended)
    assert (told, waited) == (["coin", "words"], [True])


def test_the_longest_begins_first_and_outcomes_keep_their_order(instant, monkeypatch):
    began = []

    def report(run, state, *_):
        if state in ("cell", "fresh") and run.notebook.name not in began:
            began.append(run.notebook.name)

    def order():
        began.clear()
        outcomes = instant.execute(jobs=1, force=True, report=report)
        assert list(outcomes) == ["coin", "words"]
        return list(began)

    assert order() == ["coin", "words"]  # as given: nothing is known
    for seconds, expected in (
        ({"coin": 1.0, "words": 2.0}, ["words", "coin"]),
        ({"coin": 2.0, "words": 1.0}, ["coin", "words"]),
    ):
        for run in instant.runs():
            replace(Result.load(run.results), seconds=seconds[run.notebook.name]).save(run.results)
        assert order() == expected
    instant.runs()[1].results.unlink()
    assert order() == ["words", "coin"]

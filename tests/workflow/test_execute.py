"""What the runner does with a notebook: every test here starts real kernels."""

import json
import os
import signal
import subprocess
import sys
import time

import nbformat
import psutil
import pytest

from ntpcompanion.workflow import execute as runner
from ntpcompanion.workflow.errors import WorkflowError
from ntpcompanion.workflow.provenance import library_versions, python_minor
from ntpcompanion.workflow.results import Result


@pytest.fixture
def executed(toy):
    outcomes = toy.execute()
    assert {o.status for o in outcomes.values()} == {"done"}, [o.message for o in outcomes.values()]
    return toy


def test_a_run_leaves_a_clean_notebook_and_its_results(executed):
    run = executed.runs(names=["coin"])[0]
    result = Result.load(run.results)
    assert [(m["id"], m["value"], m["cell"]) for m in result.measurements] == [("toy.half", 0.5, 2), ("toy.powers", [1.0, 2.0, 4.0], 2)]
    assert result.parameters == {"n": 1000, "seed": 0}
    assert result.peak_memory > 2**24
    assert len(result.cell_seconds) == 2
    node = nbformat.read(run.page, as_version=4)
    nbformat.validate(node)
    text = nbformat.writes(node)
    assert "papermill" not in text
    assert str(executed.project.root) not in text
    assert [cell.source for cell in node.cells if "injected-parameters" in cell.metadata.get("tags", [])] == [
        "n = 1000  # throws\nseed = 0  # of the generator"
    ]


def test_nothing_changed_nothing_runs(executed):
    assert {o.status for o in executed.execute().values()} == {"fresh"}
    executed.edit("notebooks/coin.md", "Prose with", "Other prose with")
    executed.edit("notebooks/coin.md", "# throws", "# number of throws")
    (executed.project.package / "unrelated.py").write_text("X = 2\n")
    assert {o.status for o in executed.execute().values()} == {"fresh"}


@pytest.mark.parametrize(
    ("path", "old", "new", "name", "reason"),
    [
        ("toypkg/two.py", "TWO = 2", "TWO = 2.0", "coin", "package source: two.py changed"),
        ("notebooks/coin.md", "half(8)", "half(16)", "coin", "code cells: changed"),
        ("notebooks/coin.md", "n = 1000", "n = 2000", "coin", "parameters: n: 1000 → 2000"),
        ("words.txt", "one", "zero one", "words", "inputs: text changed"),
    ],
)
def test_what_decides_the_numbers_runs_again_and_only_that(executed, path, old, new, name, reason):
    executed.edit(path, old, new)
    assert executed.reasons(name) == [reason]
    outcomes = executed.execute()
    assert {n: o.status for n, o in outcomes.items()} == {**dict.fromkeys(outcomes, "fresh"), name: "done"}


def test_libraries_and_python_count(executed, monkeypatch):
    monkeypatch.setattr("ntpcompanion.workflow.freshness.library_versions", lambda: {"numpy": "9.9"})
    monkeypatch.setattr("ntpcompanion.workflow.freshness.python_minor", lambda: "3.99")
    reasons = " | ".join(executed.reasons("coin"))
    assert f"python: {python_minor()} → 3.99" in reasons
    assert f"libraries: numpy: {library_versions()['numpy']!r} → '9.9'" in reasons


@pytest.mark.parametrize(
    ("suffix", "damage", "words"),
    [
        (".json", lambda t: t[: len(t) // 2], "cannot be read as JSON"),
        (".json", lambda t: t.replace('"value": 0.5', '"value": 0.7'), "does not match its own checksum"),
        (".ipynb", lambda t: t[: len(t) // 2], "missing or damaged"),
        (".ipynb", lambda t: t.replace("half(n)", "half(m)"), "does not match"),
    ],
)
def test_damaged_results_are_run_again_never_used(executed, suffix, damage, words):
    path = executed.project.book / "chapters" / f"coin{suffix}"
    path.write_text(damage(path.read_text()))
    assert words in executed.reasons("coin")[0]
    assert executed.execute(names=["coin"])["coin"].status == "done"
    assert executed.reasons("coin") == []


def test_a_failing_cell_is_named_and_stops_no_other(toy):
    toy.edit("notebooks/coin.md", "half(2)", "half('two')")
    outcomes = toy.execute()
    assert outcomes["words"].status == "done"
    failure = outcomes["coin"]
    assert failure.status == "failed"
    assert "Notebook 'coin' (book), code cell 2: TypeError" in failure.message
    assert "half('two')" in failure.message
    assert "\x1b" not in failure.message
    assert [p.name for p in (toy.project.book / "chapters").iterdir() if p.name.startswith(".") or "coin" in p.name] == []


def test_a_failure_keeps_the_last_good_run_but_not_as_fresh(executed):
    executed.edit("notebooks/coin.md", "half(2)", "half(2) / 0")
    assert executed.execute(names=["coin"])["coin"].status == "failed"
    assert executed.reasons("coin") == ["code cells: changed"]


def test_a_kernel_that_dies_is_an_error_with_its_cell(toy):
    toy.edit("notebooks/coin.md", "from toypkg.half import half", "from toypkg.half import half\nimport os; os._exit(1)")
    outcome = toy.execute(names=["coin"])["coin"]
    assert outcome.status == "failed"
    assert "code cell 2: the kernel died" in outcome.message


def test_a_cell_that_hangs_is_stopped_at_its_limit(toy, monkeypatch):
    monkeypatch.setitem(runner.CELL_TIMEOUT, "book", 1.0)
    toy.edit("notebooks/coin.md", "from toypkg.half import half", "from toypkg.half import half\nimport time; time.sleep(60)")
    outcome = toy.execute(names=["coin"])["coin"]
    assert "code cell 2: the cell ran longer than its limit of 1 s" in outcome.message


def test_other_profiles_and_overrides_stay_out_of_the_book(toy):
    smoke = toy.runs("smoke", ["coin"])[0]
    custom = toy.runs("book", ["coin"], {"n": 7})[0]
    runner.execute([smoke, custom])
    assert smoke.results.parent == custom.results.parent.parent / "smoke" == toy.project.build / "runs" / "smoke"
    assert Result.load(smoke.results).parameters["n"] == 10
    assert Result.load(custom.results).overrides == {"n": 7}
    assert custom.page.name.startswith("coin-")
    assert not (toy.project.book / "chapters").exists()


def test_a_claim_measured_twice_is_an_error(toy):
    toy.edit("notebooks/coin.md", '"toy.powers"', '"toy.half"')
    assert "measures toy.half more than once" in toy.execute(names=["coin"])["coin"].message


def test_a_missing_input_is_named(toy):
    (toy.project.root / "words.txt").unlink()
    assert "parameter `text` = 'words.txt' is neither a file nor a Python module" in toy.execute(names=["words"])["words"].message
    with pytest.raises(WorkflowError, match="`--jobs` must be at least 1, got 0"):
        toy.execute(jobs=0)


def worker_alive(job):
    return any(str(job) in " ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))


def test_a_killed_runner_leaves_nothing_behind_and_can_be_repeated(toy):
    toy.edit("notebooks/coin.md", "from toypkg.half import half", "from toypkg.half import half\nimport time; time.sleep(3)")
    environment = {**os.environ, "PYTHONPATH": str(toy.project.root)}
    process = subprocess.Popen(
        [sys.executable, "-m", "ntpcompanion.cli", "execute", "coin", "--profile", "smoke"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    job = toy.project.build / "tmp" / "smoke-coin" / "job.json"
    deadline = time.monotonic() + 20
    while not job.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    while worker_alive(job) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not worker_alive(job), "the worker ends with its runner"
    run = toy.runs("smoke", ["coin"])[0]
    assert not run.results.exists()
    assert runner.execute([run])[0].status == "done"
    assert json.loads(run.results.read_text())["profile"] == "smoke"

"""A full disk and a folder that cannot be written: a sentence, exit code 1, and the old files
whole.
"""

import json
from pathlib import Path

import pytest

from tests.drills.machine import needs_namespaces, read_only, small_disk


@pytest.fixture(autouse=True)
def isolated():
    needs_namespaces()


def snapshot(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_full_while_a_run_is_stored(executed):
    chapters = executed.project.book / "chapters"
    executed.run("execute")  # this copy of a project marks its folders
    before = snapshot(chapters)
    executed.edit("notebooks/coin.md", "half(8)", "half(16)")
    output = executed.run("execute", "coin", code=1, before=small_disk(chapters, 0, after=chapters))
    assert "coin (book): failed" in output
    assert "error: Could not write" in output
    assert (
        "coin.ipynb: No space left on device. Free some space or fix the permissions; the old "
        "file, if any, is intact." in output
    )
    assert snapshot(chapters) == before, "no old file is touched, no temporary one is left"
    assert executed.reasons("coin") == ["code cells: changed"]
    assert "coin (book): executed" in executed.run("execute")


@pytest.mark.slow
def test_full_while_a_notebook_runs(executed):
    executed.run("execute")  # this copy of a project marks its folders
    executed.edit("notebooks/coin.md", "half(8)", "half(16)")
    build = executed.project.build
    output = executed.run("execute", "coin", code=1, before=small_disk(build, 8192, after=build))
    assert "coin (book): failed" in output
    assert "cannot be copied for the run: No space left on device" in output
    assert "coin (book): executed" in executed.run("execute")


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["pages", "rendering", "copying"])
def test_full_while_the_book_is_built(executed, stage):
    executed.command("build")
    html, build = executed.project.html("book"), executed.project.build
    before = (html / "intro.html").read_text()
    site = sum(4096 * -(-path.stat().st_size // 4096) for path in html.rglob("*") if path.is_file())
    executed.edit("book/intro.md", "# Intro", "# Another intro")
    free = {"pages": 2**13, "rendering": 2**18, "copying": site - 2**20}[stage]
    output = executed.run("build", code=1, before=small_disk(build, free, after=build))
    assert "error: " in output
    assert "No space left on device" in output
    assert (html / "intro.html").read_text() == before
    assert "Built" in executed.run("build")
    assert "Another intro" in (html / "intro.html").read_text()


LONG = """
def run(plan):
    with open(ROOT / "calls.txt", "a") as file:
        file.write(f"{plan.n} ")
    return Result(value="x" * 300_000)
"""


@pytest.mark.slow
def test_full_while_a_sweep_is_made(toy):
    toy.write_experiment("long", LONG)
    arguments, build = ["sweep", "long", "--grid", "n=0:3", "--jobs", "1"], toy.project.build
    build.mkdir()
    options = {"PYTHONPATH": str(toy.project.root)}
    output = toy.run(*arguments, code=1, before=small_disk(build, 700_000, after=build), **options)
    assert "error: Could not write" in output
    assert "long.jsonl: No space left on device" in output
    output = toy.run(*arguments, **options)
    assert "3 runs, 2 of them finished earlier; 1 to make" in output
    assert (toy.project.root / "calls.txt").read_text().split() == ["0", "1", "2", "2"]


@pytest.mark.slow
def test_full_while_a_record_is_made(toy):
    toy.write_experiment("long", LONG)
    plan = {"experiment": "long", "about": "Long texts.", "grid": {"n": [0, 1, 2]}}
    toy.plan_records(long=plan)
    build, records = toy.project.build, toy.project.records
    build.mkdir()

    def record(**options):
        root = str(toy.project.root)
        return toy.run("record", "long", "--jobs", "1", PYTHONPATH=root, **options)

    output = record(code=1, before=small_disk(build, 700_000, after=build))
    assert (
        "No space left on device. 2 of 3 tasks are finished and kept: fix it and run the same "
        "command again." in output
    )
    output = record(code=1, before=small_disk(records, 500_000, after=records))
    assert "error: Could not write" in output
    assert not (records / "long.json").exists()
    record()
    assert len(json.loads((records / "long.json").read_text())["results"]) == 3
    assert (toy.project.root / "calls.txt").read_text().split() == ["0", "1", "2", "2"], (
        "finished tasks are not run again"
    )


@pytest.mark.parametrize(
    "folder",
    ["_build", *(pytest.param(name, marks=pytest.mark.slow) for name in ("book/chapters", "book"))],
)
def test_read_only(executed, folder):
    before = snapshot(executed.project.book / "chapters")
    executed.edit("notebooks/coin.md", "half(8)", "half(16)")
    output = executed.run("build", code=1, before=read_only(executed.project.root / folder))
    assert "error: Could not write" in output
    assert "Read-only file system" in output
    assert snapshot(executed.project.book / "chapters") == before


@pytest.mark.parametrize(
    ("command", "folder"),
    [pytest.param("record", "book/records", marks=pytest.mark.slow), ("check", "tests/baselines")],
)
def test_read_only_for_what_is_kept(executed, command, folder):
    executed.plan_halves()
    path = executed.project.root / folder
    path.mkdir(parents=True, exist_ok=True)
    arguments = {
        "record": ["record", "halves"],
        "check": ["check", "--profile", "book", "--update"],
    }[command]
    output = executed.run(
        *arguments, code=1, PYTHONPATH=str(executed.project.root), before=read_only(path)
    )
    assert "error: Could not write" in output
    assert "Read-only file system" in output


@pytest.mark.slow
def test_a_finished_book_can_be_read_from_a_disk_that_cannot_be_written(executed):
    executed.command("check", "--profile", "book", "--update")
    root = executed.project.root
    assert "3 measured values agree" in executed.run(
        "check", "--profile", "book", before=read_only(root)
    )
    assert "coin (book) is up to date" in executed.run("why", "coin", before=read_only(root))
    assert "up to date" in executed.run("list", before=read_only(root))


@pytest.mark.slow
def test_a_shared_memory_that_cannot_be_written_is_not_needed(toy):
    if not Path("/dev/shm").is_dir():
        pytest.skip("this system has no /dev/shm")
    toy.plan_halves()
    root = str(toy.project.root)
    output = toy.run("record", "halves", PYTHONPATH=root, before=read_only(Path("/dev/shm")))
    assert "Wrote" in output

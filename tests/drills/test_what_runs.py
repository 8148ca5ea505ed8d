"""Code and data that a run takes in by other ways than its imports and parameters, and settings of
the user that reach it.
"""

import json
import os
import py_compile

import pytest

from ntpcompanion.workflow.base.files import write_sealed
from ntpcompanion.workflow.records import making
from ntpcompanion.workflow.running import execute as runner
from tests.drills.test_records import SHOWN

IMPORT = "from toypkg.half import half"


def value(toy, name="coin", profile="book"):
    """The first value that a stored run has measured."""
    return json.loads((toy.project.runs(profile) / f"{name}.json").read_text())["measurements"][0][
        "value"
    ]


@pytest.mark.slow
def test_a_compiled_copy_of_equal_size_and_date_is_not_run(toy):
    source = toy.project.package / "two.py"
    py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    before = source.stat()
    source.write_text("TWO = 4\n")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    toy.command("execute", "coin")
    assert value(toy) == 0.25


def test_what_is_edited_during_a_run_and_restored_does_not_reach_it(toy, monkeypatch):
    files = {"two.py": toy.project.package / "two.py", "words.txt": toy.project.root / "words.txt"}
    before = {name: path.read_bytes() for name, path in files.items()}
    in_kernel = runner._in_kernel

    def edit_and_restore(*arguments):
        files["two.py"].write_text("TWO = 5\n")
        files["words.txt"].write_text("four words of mine\n")
        try:
            return in_kernel(*arguments)
        finally:
            for name, path in files.items():
                path.write_bytes(before[name])

    monkeypatch.setattr(runner, "_in_kernel", edit_and_restore)
    toy.command("execute", "--jobs", "1")
    assert (value(toy), value(toy, "words")) == (0.5, 3), "a run has copies of what its key says"
    for name in ("coin", "words"):
        assert "is up to date" in toy.command("why", name)


@pytest.mark.slow
def test_settings_of_the_user_reach_neither_numbers_nor_figures(toy, tmp_path):
    toy.edit(
        "notebooks/coin.md",
        IMPORT,
        f"{IMPORT}\nimport math\nimport matplotlib.pyplot as plt\n_ = plt.plot([1])",
    )
    toy.edit("notebooks/coin.md", "half(n) / n", "math.hypot(3, 4) / 10")
    (tmp_path / "sitecustomize.py").write_text("import math\nmath.hypot = lambda *_: 9.0\n")
    (tmp_path / "start.py").write_text("half = None\nimport math\nmath.hypot = lambda *_: 8.0\n")
    start = str(tmp_path / "start.py")
    toy.run(
        "execute",
        "coin",
        PYTHONPATH=str(tmp_path),
        PYTHONSTARTUP=start,
        MPLBACKEND="Agg",
        PYTHONOPTIMIZE="1",
    )
    assert value(toy) == 0.5
    assert "image/" in (toy.project.book / "chapters" / "coin.ipynb").read_text()


@pytest.mark.slow
def test_a_record_is_made_by_the_present_code_without_settings_of_the_user(importable, tmp_path):
    toy, root = importable, str(importable.project.root)
    toy.write_experiment(
        "study",
        "import math\n\n\ndef run(plan):\n    return Result(value=math.hypot(3, 4) * plan.n)\n",
    )
    source = toy.project.package / "experiments" / "study.py"
    py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    before = source.stat()
    source.write_text(source.read_text().replace("* plan.n", "+ plan.n"))
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    (tmp_path / "sitecustomize.py").write_text("import math\nmath.hypot = lambda *_: 9.0\n")
    toy.plan_records(study={"experiment": "study", "about": "Adds.", "grid": {"n": [2]}})
    toy.run("record", "study", "--jobs", "1", PYTHONPATH=f"{tmp_path}{os.pathsep}{root}")
    (stored,) = json.loads((toy.project.records / "study.json").read_text())["results"]
    assert stored["result"] == {"value": 7.0}


@pytest.mark.slow
def test_a_source_edited_while_a_record_is_made_and_restored_is_noticed(importable, monkeypatch):
    importable.plan_halves(grid={"n": [1]})
    source, compute = importable.project.package / "two.py", making.compute

    def edit_and_restore(*arguments, **options):
        source.write_text("TWO = 5\n")
        try:
            return compute(*arguments, **options)
        finally:
            source.write_text("TWO = 2\n")

    with monkeypatch.context() as patch:
        patch.setattr(making, "compute", edit_and_restore)
        output = importable.command("record", "halves", "--jobs", "1", code=1)
    assert "has other sources: two.py. If you have edited something meanwhile, run the" in output
    assert "0 of 1 tasks are finished and kept" in output
    assert "Wrote" in importable.command("record", "halves", "--jobs", "1")
    (stored,) = json.loads((importable.project.records / "halves.json").read_text())["results"]
    assert stored["result"] == {"value": 0.5}


HIDDEN = """from toypkg.half import half
import importlib, sys
sys.path.append("notebooks")
helper = importlib.import_module("helper")
late = importlib.import_module("toypkg.unrelated")
_ = open("extra.txt").read()"""


@pytest.mark.slow
def test_what_a_run_loads_by_other_ways_is_declared_and_seen_to_change(toy):
    root = toy.project.root
    files = {"notebooks/helper.py": "X = 1\n", "toypkg/unrelated.py": "X = 1\n", "extra.txt": "one"}
    for name, text in files.items():
        (root / name).write_text(text)
    toy.edit("notebooks/coin.md", IMPORT, HIDDEN)
    output = toy.command("execute", "coin", code=1)
    assert (
        "a cell names notebooks/helper.py, which lies in the project and is not declared" in output
    )
    declared = f"ntp: {{files: [{', '.join(files)}]}}\n---\n(coin)"
    toy.edit("notebooks/coin.md", "---\n(coin)", declared)
    assert "note:" not in toy.command("execute", "coin")
    assert "coin (book) is up to date" in toy.command("why", "coin")
    for name, text in files.items():
        (root / name).write_text(text + " ")
        assert f"files: {name} changed" in toy.command("why", "coin")
        (root / name).write_text(text)


@pytest.mark.slow
def test_an_edited_default_that_the_profile_overrules_is_said(toy):
    toy.command("execute", "coin", "--profile", "smoke")
    assert "note" not in toy.command("execute", "coin", "--profile", "smoke")
    toy.edit("notebooks/coin.md", "n = 1000", "n = 2000")
    words = "the notebook's n = 2000 is not used at profile smoke: notebooks/profiles.yml says 10."
    assert f"coin (smoke): up to date note: {words}" in toy.command(
        "execute", "coin", "--profile", "smoke"
    )
    assert f"coin (smoke): {words}" in toy.command("why", "coin", "--profile", "smoke")


@pytest.mark.parametrize("value", ["words.txt", "{root}/words.txt"], ids=["relative", "absolute"])
def test_a_parameter_that_names_a_file_must_be_an_input(toy, no_kernel, value):
    no_kernel()
    toy.edit("notebooks/words.md", "ntp: {inputs: [text]}\n", "")
    toy.edit("notebooks/words.md", "words.txt", value.format(root=toy.project.root))
    output = toy.command("execute", "words", code=1)
    assert "parameter `text` = '" in output
    assert "names a file, but is not an input. Add `text` to the front matter" in output


@pytest.mark.slow
def test_a_record_that_is_shown_must_be_listed(toy):
    write_sealed(toy.project.records / "halves.json", {"results": [1]})
    for old, new in SHOWN.items():
        toy.edit("notebooks/words.md", old, new)
    toy.edit("notebooks/words.md", ", records: [halves]", "")
    output = toy.command("execute", "words", code=1)
    assert (
        "Notebook 'words' shows the record halves, which its front matter does not list: add `ntp: "
        "{records: [halves]}`" in output
    )
    assert not (toy.project.book / "chapters").exists()

"""What a process does after `tracing` has set it up: each in a process of its own, as neither can
be taken back.
"""

import json
import os
import py_compile
import subprocess
import sys

import pytest

from ntpcompanion.workflow.base import tracing
from ntpcompanion.workflow.base.files import sha256


@pytest.fixture
def inside(tmp_path):
    """A function: run code in a process that imports from sources below a folder and writes down
    what it opens there; its output.
    """
    folder = tmp_path / "project"
    folder.mkdir()

    def run(code, *more):
        script = (
            "import sys\nfrom ntpcompanion.workflow.base import tracing\n"
            f"folders = {[str(folder), *more]!r}\n"
            "tracing.import_from_sources(folders)\n"
            "apart = tracing.outside(folders)\n"
            f"tracing.record_reads(lambda path: not apart(path), {str(tmp_path / 'log')!r})\n"
            f"sys.path.insert(0, {str(folder)!r})\n{code}"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    run.folder = folder
    run.log = lambda: tracing.read_events(tmp_path / "log").read
    return run


def stale_copy(path, old, new):
    """A module whose compiled copy has its size and date, and holds another text."""
    path.write_text(old)
    py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    before = path.stat()
    path.write_text(new)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_modules_of_the_project_come_from_their_sources(inside):
    (inside.folder / "package").mkdir()
    for path in (
        inside.folder / "alone.py",
        inside.folder / "package" / "__init__.py",
        inside.folder / "package" / "part.py",
    ):
        stale_copy(path, "X = 1\n", "X = 2\n")
    copies = {path: path.read_bytes() for path in inside.folder.rglob("*.pyc")}
    assert len(copies) == 3
    assert inside("import alone, package.part\nprint(alone.X, package.X, package.part.X)") == [
        "2",
        "2",
        "2",
    ]
    assert {path: path.read_bytes() for path in inside.folder.rglob("*.pyc")} == copies
    assert set(inside.log()) == {str(path) for path in inside.folder.rglob("*.py")}


def test_the_stub_of_a_face_is_not_noted_as_read(inside):
    for name in ("__init__.pyi", "words"):
        (inside.folder / name).write_text("x")
    inside("open('__init__.pyi').close(); open('words').close()")
    assert list(inside.log()) == [str(inside.folder / "words")]


def test_the_notes_of_an_installer_beside_the_sources_are_not_noted_as_read(inside):
    notes = inside.folder / "lib.egg-info"
    notes.mkdir()
    (notes / "entry_points.txt").write_text("[a]\nb = lib:c\n")
    (notes / "PKG-INFO").write_text("Name: lib\nVersion: 1\n")
    code = "from importlib import metadata\nprint(metadata.entry_points(group='a')['b'].value)"
    assert inside(code) == ["lib:c"]
    assert inside.log() == {}


def test_what_is_read_is_written_down_and_what_is_made_is_not(inside, tmp_path):
    for name in ("read.txt", "again.txt", "both.txt"):
        (inside.folder / name).write_text("one")
    outside = tmp_path / "outside.txt"
    outside.write_text("two")
    inside(
        "import os, pathlib\nopen('read.txt').read(), open('read.txt', 'rb').read(), "
        f"pathlib.Path({str(outside)!r}).read_text()\n"
        "os.close(os.open('again.txt', os.O_RDONLY))\nopen('missing.txt', "
        "'a').close()\nopen('missing.txt').close()\n"
        "open('both.txt').close()\nopen('both.txt', 'r+').close()\nopen('new.tmp', "
        "'w').close()\nos.replace('new.tmp', 'new.txt')\n"
        "open('new.txt').close()\nos.listdir('.')\ntry:\n    open('none.txt')\nexcept OSError:\n   "
        " pass",
        str(outside),
    )
    one = [sha256("one")]
    assert inside.log() == {
        str(inside.folder / "read.txt"): one,
        str(inside.folder / "again.txt"): one,
        str(inside.folder / "both.txt"): one,  # before it was written
        str(outside): [sha256("two")],
    }


def test_a_file_that_changes_between_two_reads_has_two_hashes(inside, tmp_path):
    (inside.folder / "text").write_text("one")
    inside(
        "import subprocess\nopen('text').read()\nsubprocess.run(['sh', '-c', 'echo two > "
        "text'])\nopen('text').read()"
    )
    assert inside.log() == {str(inside.folder / "text"): [sha256("one"), sha256("two\n")]}


def test_without_a_log_nothing_was_read(tmp_path):
    assert tracing.read_events(tmp_path / "none").read == {}
    lines = [["read", "a", "1"], ["read", "a", "1"], ["written", "b"], ["read", "b", "2"]]
    lines += [["listed", "c", "3"], ["absent", "d"], ["module", "e"], ["measured", "f"]] * 2
    (tmp_path / "log").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert tracing.read_events(tmp_path / "log") == tracing.Log(
        {"a": ["1"], "c": ["3"]}, frozenset("d"), frozenset("e"), ("f", "f")
    )


def test_databases_folders_packages_and_measurements_are_written_down(inside, tmp_path):
    (inside.folder / "base").touch()
    (inside.folder / "many").mkdir()
    inside(
        "import os, sqlite3, numpy\nsqlite3.connect('base'), sqlite3.connect(':memory:')\n"
        "os.makedirs('many', exist_ok=True), os.makedirs('own'), os.listdir('own')\n"
        "os.listdir('many'), list(os.scandir('many')), os.listdir(sys.path[0])\n"
        "from ntpcompanion.workflow.claims.measure import measure\nmeasure('toy.half', 1)\n"
        "try:\n    open('not/there')\nexcept OSError:\n    pass"
    )
    found = tracing.read_events(tmp_path / "log")
    assert found.read == {
        str(inside.folder / "base"): [sha256("")],
        str(inside.folder / "many"): [sha256("")],
    }, "what it has made itself is no input"
    assert found.absent == {"not/there"}
    assert {"numpy", "ntpcompanion"} <= found.modules
    assert found.measured == ("toy.half",)

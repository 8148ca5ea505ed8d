"""How a process of a run begins: each in a process of its own."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ntpcompanion.workflow.base import tracing
from ntpcompanion.workflow.base.environment import OF_THE_MACHINE
from ntpcompanion.workflow.running import confine
from ntpcompanion.workflow.running.start import SYSTEM, Start, interpreter, others, surroundings_of

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux closes what lies elsewhere")


@pytest.fixture
def begun(tmp_path):
    """A function: run a Python program in a run that may read two folders; what it printed."""
    for name in ("run", "code", "given", "scratch", "other"):
        (tmp_path / name).mkdir()
    start = Start((str(tmp_path / "code"),), (str(tmp_path / "given"),), str(tmp_path / "run"))
    machine = {name: os.environ[name] for name in OF_THE_MACHINE if name in os.environ}
    variables = machine | start.environment(tmp_path / "scratch", tmp_path / "log")

    def run(code):
        done = subprocess.run(
            start.command(tmp_path / "scratch", "-c", code),
            env=variables,
            cwd=tmp_path / "run",
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    run.folder = tmp_path
    run.log = lambda: tracing.read_events(tmp_path / "log")
    return run


def test_its_folders_are_private_and_it_imports_from_its_own_first(begun):
    (begun.folder / "code" / "mine.py").write_text("X = 1\n")
    places = ("HOME", "TMPDIR", "MPLCONFIGDIR", "IPYTHONDIR", "XDG_CACHE_HOME")
    found = begun(
        "import json, mine, os, sys, tempfile\nprint(json.dumps([sys.path[:1], mine.X, "
        f"[os.environ[name] for name in {places}], tempfile.gettempdir(), os.environ['TZ']]))"
    )
    path, number, folders, temporary, zone = found
    assert (path, number, zone) == ([str(begun.folder / "code")], 1, "UTC")
    scratch = begun.folder / "scratch"
    assert all(Path(each).is_relative_to(scratch) for each in [*folders, temporary])


def test_what_it_reads_elsewhere_is_written_down_also_by_its_children(begun):
    for name in ("given/a.txt", "given/b.txt", "run/own.txt", "code/mine.py"):
        (begun.folder / name).write_text("")
    given = begun.folder / "given"
    begun(
        f"import subprocess, sys\nopen({str(given / 'a.txt')!r}), open('own.txt')\n"
        f"code = 'import mine, sys; open(sys.argv[1])'\n"
        f"subprocess.run([sys.executable, '-c', code, {str(given / 'b.txt')!r}])\n"
        "print('[]')"
    )
    names = {str(given / "a.txt"), str(given / "b.txt"), str(begun.folder / "code" / "mine.py")}
    assert begun.log().read.keys() == names
    assert "mine" in begun.log().modules


@LINUX
def test_other_places_are_closed_and_files_can_still_be_written_and_moved(begun):
    (begun.folder / "other" / "a.txt").write_text("a")
    other = str(begun.folder / "other")
    code = f"""
import json, os, pathlib
def rejected(function, *given):
    try:
        function(*given)
    except PermissionError:
        return True
    return False
answers = [rejected(open, {other!r} + "/a.txt"), rejected(os.listdir, {other!r})]
pathlib.Path("new.txt").write_text("b")
os.mkdir("below")
os.rename("new.txt", "below/new.txt")
answers.append(os.path.exists({other!r} + "/a.txt"))
pathlib.Path({other!r}, "written.txt").write_text("c")
answers.append(pathlib.Path("below/new.txt").read_text())
print(json.dumps(answers))
"""
    assert begun(code) == [True, True, True, "b"]
    assert (begun.folder / "other" / "written.txt").read_text() == "c"


def test_where_the_system_cannot_close_places_the_program_runs_all_the_same(monkeypatch):
    class Old:
        """A system without these rules."""

        def __init__(self, *_, **__):
            self.syscall = lambda *_: -1

    monkeypatch.setattr(confine.sys, "platform", "linux")
    monkeypatch.setattr(confine.ctypes, "CDLL", Old)
    Old.__init__.__defaults__ = None
    assert confine.read_only_below(["/usr"]) is False
    monkeypatch.setattr(confine.sys, "platform", "darwin")
    assert confine.read_only_below(["/usr"]) is False


def test_the_folder_of_models_is_there_before_a_run_that_may_fill_it(toy, tmp_path, monkeypatch):
    settings = dataclasses.replace(toy.project.settings, environment=("HF_HOME",))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache" / "models"))
    around = surroundings_of(dataclasses.replace(toy.project, settings=settings))
    assert str(tmp_path / "cache" / "models") in around.readable
    assert (tmp_path / "cache" / "models").is_dir(), "a rule can only name what exists"


def test_code_outside_is_what_neither_the_project_nor_an_installer_brought(tmp_path):
    root = tmp_path / "book"
    path = ["", str(root), str(root / "src"), str(tmp_path), str(tmp_path / "lab"), *interpreter()]
    assert others([*path, *SYSTEM[:1]], root) == [str(tmp_path / "lab"), "/usr"]

"""What a fork server does before its first job; `test_workers` gives it jobs."""

import json
import subprocess
import sys

import pytest

from ntpcompanion.workflow.base import tracing
from ntpcompanion.workflow.base.messages import MARK
from ntpcompanion.workflow.running import fork_server, worker

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="no system that forks")


def printed(code):
    """What a process of its own prints: what was imported cannot be taken back."""
    ended = subprocess.run(
        [sys.executable, "-c", f"from ntpcompanion.workflow.running import fork_server\n{code}"],
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.split()


def test_what_cannot_be_loaded_is_left_to_the_kernel(tmp_path, monkeypatch):
    (tmp_path / "raising_module.py").write_text("raise RuntimeError('of the user')")
    monkeypatch.syspath_prepend(tmp_path)
    fork_server.load(["raising_module", "no.such.module", "json.loads", "wsgiref.types.x"])
    assert "wsgiref.types" in sys.modules
    assert not {"raising_module", "no", "json.loads"} & set(sys.modules)


def test_papermill_is_loaded_without_pyarrow_which_a_notebook_can_still_import():
    code = (
        "import sys\nfork_server.load_papermill()\n"
        "print('papermill' in sys.modules, 'pyarrow' in sys.modules)\n"
        "import pyarrow\nprint(pyarrow.array([1]).to_pylist())"
    )
    assert printed(code) == ["True", "False", "[1]"]


@POSIX
def test_without_jobs_it_ends_and_nothing_of_the_package_is_loaded(tmp_path):
    # Python imports it first
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, sys\natexit.register(lambda: print(*map(str, sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-P", fork_server.__file__, tracing.__file__, json.dumps([str(tmp_path)])],
        input="",
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    loaded = ended.stdout.split()
    assert {"papermill", "ipykernel.kernelapp", "pydantic"} <= set(loaded)
    assert not [name for name in loaded if name.startswith("ntpcompanion")]


def test_it_names_what_it_cannot_import():
    assert fork_server.MARK == MARK
    assert fork_server.WORKER == worker.__name__

"""The environment of processes that make numbers."""

import os
import subprocess
import sys

import pytest

from ntpcompanion.workflow.base.environment import (
    clean_environment,
    folders,
    python_path,
    started_in,
)
from tests.toy import ROOT


def test_nothing_of_the_users_python_settings_is_left(toy, monkeypatch):
    for name in (
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PYTHONOPTIMIZE",
        "PYTHONHASHSEED",
        "MPLBACKEND",
        "OMP_NUM_THREADS",
        "OTHER",
    ):
        monkeypatch.setenv(name, "of the user")
    found = clean_environment(toy.project)
    assert {name: value for name, value in found.items() if value == "of the user"} == {
        "OTHER": "of the user"
    }
    assert {name for name in found if name.startswith("PYTHON")} == {
        "PYTHONPATH",
        "PYTHONNOUSERSITE",
        "PYTHONHASHSEED",
    }
    assert found["PYTHONPATH"].split(os.pathsep) == [str(toy.project.root), str(ROOT)]
    assert found["MPLBACKEND"] == "module://matplotlib_inline.backend_inline"
    assert folders(toy.project) == [str(toy.project.root), str(toy.project.package)]


def test_an_interpreter_there_imports_the_project_first_and_nothing_of_the_user(
    toy, monkeypatch, tmp_path
):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "planted"))
    path = python_path(toy.project)
    assert path[:2] == [str(toy.project.root), str(ROOT)]
    assert str(tmp_path / "planted") not in path
    assert "" not in path


def test_an_environment_holds_for_what_is_started_in_it(monkeypatch):
    monkeypatch.setenv("OUTER", "1")
    before = dict(os.environ)
    code = "import os; print(os.environ.get('OUTER'), os.environ['INNER'])"
    with started_in({"PATH": os.environ["PATH"], "INNER": "2"}):
        assert subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split() == ["None", "2"]
    assert dict(os.environ) == before
    with pytest.raises(KeyError, match="no such task"), started_in({}):
        raise KeyError("no such task")
    assert dict(os.environ) == before

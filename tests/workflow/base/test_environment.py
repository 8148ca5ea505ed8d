"""The environment of processes that make numbers."""

import dataclasses
import os
from pathlib import Path

from ntpcompanion.workflow.base import environment
from ntpcompanion.workflow.base.environment import clean_environment, folders
from tests.toy import ROOT


def test_of_the_users_variables_only_the_named_ones_are_passed(toy, monkeypatch):
    project = dataclasses.replace(
        toy.project, settings=dataclasses.replace(toy.project.settings, environment=("LAB", "GONE"))
    )
    given = ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONOPTIMIZE", "PYTHONHASHSEED", "MPLBACKEND")
    given += ("OMP_NUM_THREADS", "OTHER", "HOME", "TZ", "LANG", "LC_ALL", "IPYTHONDIR", "LAB")
    for name in given:
        monkeypatch.setenv(name, "of the user")
    found = clean_environment(project)
    assert {name for name, value in found.items() if value == "of the user"} == {"LAB"}
    assert {name for name in found if name.startswith("PYTHON")} == {
        "PYTHONPATH",
        "PYTHONNOUSERSITE",
        "PYTHONHASHSEED",
    }
    assert found["PYTHONPATH"].split(os.pathsep) == [str(toy.project.root), str(ROOT)]
    assert found["MPLBACKEND"] == "module://matplotlib_inline.backend_inline"
    assert (found["TZ"], found["LC_ALL"]) == ("UTC", "C.UTF-8")
    assert Path(found["HOME"]).is_relative_to(toy.project.build)
    assert folders(toy.project) == [str(toy.project.root), str(toy.project.package)]


def test_an_installed_package_is_not_put_before_the_standard_library(tmp_path, monkeypatch):
    real, link = tmp_path / "real" / "site", tmp_path / "link"
    real.mkdir(parents=True)
    link.symlink_to(tmp_path / "real")
    monkeypatch.setattr(environment.ntpcompanion, "__file__", str(real / "ntp" / "__init__.py"))
    assert environment.running() == [str(real.resolve())]
    monkeypatch.setattr(environment.sysconfig, "get_path", lambda name: str(link / "site"))
    assert environment.running() == []


def test_models_are_looked_for_where_they_usually_lie(toy, monkeypatch, tmp_path):
    settings = dataclasses.replace(toy.project.settings, environment=("HF_HOME",))
    project = dataclasses.replace(toy.project, settings=settings)
    monkeypatch.delenv("HF_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert clean_environment(project)["HF_HOME"] == str(tmp_path / "huggingface")
    monkeypatch.setenv("HF_HOME", "/models")
    assert clean_environment(project)["HF_HOME"] == "/models"
    assert "HF_HOME" not in clean_environment(toy.project)

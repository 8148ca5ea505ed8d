import os
import shutil
import sys
from pathlib import Path

import pytest

import ntpcompanion
from ntpcompanion.workflow.base.project import Project
from tests.refusing import refused


def test_the_nearest_folder_with_a_configuration_and_notebooks_is_the_project(toy):
    root = toy.project.root
    (root / "deep" / "notebooks").mkdir(parents=True)
    (root / "book" / "_config.yml").touch()
    for start in (root, root / "deep", root / "deep" / "notebooks", root / "book", None):
        assert Project.find(start).root == root
    with refused(r"No project at or above .*Change into the checkout"):
        Project.find(root.parent)


def test_the_packages_are_those_of_the_settings_else_the_one_that_runs(toy):
    root = toy.project.root
    own = Path(ntpcompanion.__file__).parent
    assert Project.find().packages == Project(root).packages == (own,)
    settings = root / "pyproject.toml"
    settings.write_text("[tool.ntpcompanion]\npackage = 'toypkg'\n")
    found = Project.find()
    assert (found.packages, found.experiments) == ((root / "toypkg",), "toypkg.experiments")
    (root / "src" / "more").mkdir(parents=True)
    settings.write_text(
        "[tool.ntpcompanion]\npackage = ['toypkg', 'more']\nexperiments = 'more.runs'\n"
    )
    found = Project.find()
    assert found.packages == (root / "toypkg", root / "src" / "more")
    assert found.experiments == "more.runs"
    assert hash(found) == hash(Project(root, *found.packages[:1], found.packages[1:]))


def test_a_setting_that_is_wrong_is_a_sentence(toy):
    path = toy.project.root / "pyproject.toml"
    path.write_text("[tool.ntpcompanion]\npackage = 'toypkq'\n")
    with refused(r"no folder toypkq or src/toypkq .*There are: toypkg"):
        Project.find()


def test_one_at_a_time_and_the_next_when_it_is_done(toy):
    for _ in range(2):
        with toy.project.lock():
            with refused(r"Another ntpcompanion has worked in .*toy for over 0 s. Wait for it"):
                toy.project.lock(timeout=0).__enter__()
            with toy.project.lock("record-halves", timeout=0):
                pass


def test_who_waits_says_what_for(toy, monkeypatch, caplog):
    monkeypatch.setattr("ntpcompanion.workflow.base.project.PATIENCE", 0.01)
    for name, work in (
        ("build", "executes notebooks or builds the book"),
        ("record-halves", "makes record-halves"),
    ):
        caplog.clear()
        with toy.project.lock(name):
            assert caplog.messages == [], "nobody waited"
            with refused(r"Another ntpcompanion has worked in"):
                toy.project.lock(name, timeout=0.1).__enter__()
        assert caplog.messages == [
            f"Waiting for another ntpcompanion that {work} in {toy.project.root}."
        ]


def test_the_command_of_another_checkout_is_refused(toy, monkeypatch):
    toy.project.require_own_package()
    other = toy.project.root / "ntpcompanion"
    other.mkdir()
    with refused(
        r"This command runs .*, but .*toy has an ntpcompanion of its own.*Use "
        r".*toy/.venv/bin/ntpcompanion"
    ):
        toy.project.require_own_package()
    monkeypatch.setattr(
        "ntpcompanion.workflow.base.project.__file__",
        str(other / "workflow" / "base" / "project.py"),
    )
    toy.project.require_own_package()


def test_a_folder_that_cannot_be_made_is_named(toy):
    toy.project.build.touch()
    with refused(r"Could not write to .*_build: File exists. Move that file away"):
        toy.project.lock().__enter__()


@pytest.mark.skipif(sys.platform == "win32", reason="links, and such names")
@pytest.mark.parametrize("command", [("list",), ("build",), ("execute",), ("check",)])
def test_a_project_that_cannot_be_worked_in_is_a_sentence(toy, tmp_path, no_kernel, command):
    no_kernel()
    root = toy.project.root
    named = {
        f"a{os.pathsep}b": "has ':' in its name, by which Python separates folders",
        os.fsdecode(b"\xff"): "is not UTF-8, as the names of files of a book are",
    }
    for name, words in named.items():
        shutil.copytree(root, tmp_path / name)
        toy.project = Project(tmp_path / name, tmp_path / name / "toypkg")
        assert words in toy.command(*command, code=1)


@pytest.mark.skipif(sys.platform == "win32", reason="names there are Unicode")
@pytest.mark.parametrize("folder", ["book", "notebooks", "toypkg"])
def test_a_file_whose_name_is_not_utf8_is_a_sentence(toy, no_kernel, folder):
    no_kernel()
    path = toy.project.root / folder / os.fsdecode(b"\xff.md")
    path.write_text("# A page\n")
    assert "is not UTF-8, as the names of files of a book are" in toy.command("build", code=1)

"""What is examined on this machine and with fakes in place of what is slow; the command and its
exit code.
"""

import importlib.util
import json
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from importlib.metadata import version

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from typer.testing import CliRunner

from ntpcompanion import cli
from ntpcompanion.settings import Settings
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.doctor import doctor_report as report
from ntpcompanion.workflow.doctor import machine, questions
from ntpcompanion.workflow.doctor.environment_checks import (
    Check,
    Install,
    KernelAnswer,
    TorchAnswer,
)


def states(checks):
    return {check.name: check.state for check in checks}


def named(checks, name):
    return next(check for check in checks if check.name == name)


def test_this_machine_has_no_fault_and_the_toy_project_lacks_what_it_lacks(toy):
    checks = report.examine(toy.project)
    assert [check for check in checks if check.state == "fault"] == []
    assert (
        named(checks, "pyproject.toml").found
        == f"not in {toy.project.root}: what is installed was not compared with it"
    )
    assert "constraints.txt" not in states(checks), "a book may do without"
    assert named(checks, "kernel").found == "starts, and imports toypkg from here"
    assert named(checks, "torch").found.split("+")[0] == version("torch").split("+")[0]
    assert [check.name for check in checks].count("disk") == 2
    assert all(check.fix for check in checks if check.state != "ok")
    assert not toy.project.build.exists()


@pytest.fixture
def quick(monkeypatch, toy):
    """The toy project on a machine whose kernel, torch and browser answer at once."""
    good = KernelAnswer(sys.executable, str(toy.project.package / "__init__.py"))
    monkeypatch.setattr(questions, "ask_kernel", lambda project: good)
    monkeypatch.setattr(questions, "ask_torch", lambda root: TorchAnswer("9.9", threads=1))
    monkeypatch.setattr(questions, "ask_version", lambda path: "Chromium 1.2")
    return toy


@pytest.mark.skipif(sys.platform == "win32", reason="no such name there")
def test_a_folder_that_cannot_be_worked_in_is_a_fault(quick, tmp_path):
    root = quick.project.root.rename(tmp_path / "a:b")
    check = named(report.examine(Project(root, root / "toypkg")), "place")
    assert (check.state, check.fix) == ("fault", "Rename it, or copy it to another place.")
    assert "a:b has ':' in its name, by which Python separates folders" in check.found


def test_what_the_checkout_asks_for_is_compared_with_what_is_installed(quick):
    root = quick.project.root
    (root / "pyproject.toml").write_text(
        '[project]\nrequires-python = ">=99"\ndependencies = ["numpy>=99"]\noptional-dependencies '
        '= {test = ["absent"]}'
    )
    (root / "constraints.txt").write_text("numpy==0.1\n")
    quick.project = replace(quick.project, settings=Settings(constraints="constraints.txt"))
    checks = report.examine(quick.project)
    assert {name: state for name, state in states(checks).items() if state == "fault"} == {
        "Python": "fault",
        "packages": "fault",
    }
    assert named(checks, "packages").found == f"numpy {version('numpy')} (needs >=99)"
    assert named(checks, "packages for test").found == "absent is missing"
    assert (
        named(checks, "pinned versions").found
        == f"not those of constraints.txt: numpy {version('numpy')} (0.1)"
    )
    assert not {"pyproject.toml", "constraints.txt"} & set(states(checks))
    (root / "constraints.txt").unlink()
    assert "numpy" in named(report.examine(quick.project), "packages").found
    missing = named(report.examine(quick.project), "constraints.txt")
    assert (missing.state, missing.fix) == ("warning", "Restore it, if the book has had one.")


def test_an_extra_that_the_book_needs_must_be_there(quick):
    (quick.project.root / "pyproject.toml").write_text(
        "[project.optional-dependencies]\nmore = ['absent']\n"
    )
    assert states(report.examine(quick.project))["packages for more"] == "warning"
    quick.project = replace(quick.project, settings=Settings(extras=("more",)))
    assert states(report.examine(quick.project))["packages for more"] == "fault"


def test_nothing_is_said_to_install_from_another_checkout(quick):
    (quick.project.root / "ntpcompanion").mkdir()
    (quick.project.root / "pyproject.toml").write_text('[project]\ndependencies = ["absent"]')
    checks = report.examine(quick.project)
    assert states(checks)["ntpcompanion"] == "fault"
    assert not {"packages", "pinned versions"} & set(states(checks))
    assert not any("pip install" in check.fix for check in checks)


def test_threads_are_judged_where_torch_says_how_many(quick, monkeypatch):
    assert named(report._torch(quick.project), "threads").state == "ok"
    monkeypatch.setattr(questions, "ask_torch", lambda root: TorchAnswer(failed="ImportError"))
    assert [check.name for check in report._torch(quick.project)] == ["torch", "GPU"]


def test_a_book_that_has_nothing_to_do_with_torch_hears_nothing_of_it(quick, monkeypatch):
    monkeypatch.setattr(report, "version_of", lambda name: None)
    assert list(report._torch(quick.project)) == []
    (quick.project.root / "pyproject.toml").write_text("[project]\ndependencies = ['torch>=2']\n")
    assert next(check.name for check in report._torch(quick.project)) == "torch"


@pytest.mark.parametrize(
    "spec", [None, ModuleSpec("sphinx-mathjax-offline", None)], ids=["missing", "an empty folder"]
)
def test_a_missing_mathjax_is_a_fault_and_no_surprise(monkeypatch, spec):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    assert (
        named(report._rendering(Install()), "MathJax").found
        == "sphinx-mathjax-offline is not installed"
    )


def test_a_kernelspec_of_the_user_is_seen(quick, tmp_path, monkeypatch):
    folder = tmp_path / "jupyter" / "kernels" / "python3"
    folder.mkdir(parents=True)
    monkeypatch.setattr(KernelSpecManager, "kernel_dirs", [str(folder.parent)])
    (folder / "kernel.json").write_text(
        json.dumps({"argv": ["/other/python3"], "display_name": "mine", "language": "python"})
    )
    assert (
        "would run /other/python3"
        in named(report.examine(quick.project), "kernel of Jupyter").found
    )
    (folder / "kernel.json").write_text("{")
    broken = named(report.examine(quick.project), "kernel of Jupyter")
    assert (broken.state, "cannot be read" in broken.found) == ("warning", True)


def test_a_check_that_falls_over_is_a_fault_and_no_end(quick, monkeypatch):
    def fall(*_):
        raise ZeroDivisionError("a surprise")

    monkeypatch.setattr(machine, "check_memory", fall)
    (quick.project.root / "pyproject.toml").write_text("[project")
    checks = report.examine(quick.project)
    assert (
        named(checks, "folders").found
        == "could not be examined further: ZeroDivisionError: a surprise"
    )
    assert named(checks, "packages").state == "fault"
    assert [check.name for check in checks].count("disk") == 2


def test_lines_are_aligned_and_leave_paths_and_commands_whole():
    path = "/a/very/long/path/that/does/not/fit/into/the/line/and/must/be/copied-by-hand"
    lines = report.shown(
        Check("write access", "fault", f"rejected: {path}", "Run `x`. " * 9), 60
    ).splitlines()
    assert lines[0] == "fault    write access           rejected:"
    assert lines[1] == " " * 32 + path
    assert " ".join(lines[2:]).split() == ["Run", "`x`."] * 9
    assert all(
        line.startswith(" " * 9 + "Run") or line.startswith(" " * 9 + "`x`") for line in lines[2:]
    )
    assert all(len(line) <= 60 for line in lines[2:])
    assert report.shown(Check("torch", "ok", "2.13"), 60) == f"ok       torch{' ' * 18}2.13"
    long = Check("packages for a-book-of-theirs", "ok", "all 2 installed")
    assert " theirs" not in report.shown(long, 60)
    assert "theirs all 2 installed" in report.shown(long, 60)


@pytest.mark.parametrize(
    ("found", "code", "last"),
    [
        (["ok", "ok"], 0, "2 checks: all ok."),
        (["ok", "warning"], 0, "2 checks: 1 warning."),
        (["fault", "warning", "warning", "fault", "ok"], 1, "5 checks: 2 faults, 2 warnings."),
    ],
)
def test_exit_codes_for_scripts(toy, monkeypatch, found, code, last):
    checks = [
        Check(f"check {i}", state, "[bold] is not markup", "" if state == "ok" else "Fix it.")
        for i, state in enumerate(found)
    ]
    monkeypatch.setattr(cli, "examine", lambda project: checks)
    output = toy.command("doctor", code=code)
    assert output.endswith(last)
    assert output.count("Fix it.") == len(found) - found.count("ok")
    assert f"{found[0]} check 0 [bold] is not markup" in output


def test_outside_of_a_checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.app, ["doctor"])
    assert result.exit_code == 1
    assert "Change into the checkout." in " ".join(result.output.split())

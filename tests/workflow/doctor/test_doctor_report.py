"""What is examined on this machine; the command and its exit code."""

import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ntpcompanion.settings import Settings
from ntpcompanion.workflow.base.processes import Ended
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.cli import commands
from ntpcompanion.workflow.doctor import doctor_report as report
from ntpcompanion.workflow.doctor.doctor_report import Check


def states(checks):
    return {check.name: check.state for check in checks}


def named(checks, name):
    return next(check for check in checks if check.name == name)


def test_this_machine_has_no_fault_and_the_toy_project_lacks_what_it_lacks(toy):
    checks = report.examine(toy.project)
    assert [check for check in checks if check.state == "fault"] == []
    assert (
        named(checks, "pyproject.toml").result
        == f"not in {toy.project.root}: what is installed was not compared with it"
    )
    assert "constraints.txt" not in states(checks), "a book may do without"
    assert named(checks, "kernel").result == "starts, and imports toypkg from here"
    assert [check.name for check in checks].count("disk") == 2
    assert all(check.fix for check in checks if check.state != "ok")
    assert not toy.project.build.exists()


@pytest.fixture
def quick(monkeypatch, toy):
    """The toy project on a machine whose kernel and pip answer at once."""
    monkeypatch.setattr(report, "kernel", lambda project: [])
    monkeypatch.setattr(report, "run", lambda *_, **__: Ended(0, "", ""))
    return toy


@pytest.mark.skipif(sys.platform == "win32", reason="no such name there")
def test_a_folder_that_cannot_be_worked_in_is_a_fault(quick, tmp_path):
    root = quick.project.root.rename(tmp_path / "a:b")
    check = named(report.examine(Project(root, root / "toypkg")), "place")
    assert (check.state, check.fix) == ("fault", "Rename it, or copy it to another place.")
    assert "a:b has ':' in its name, by which Python separates folders" in check.result


def test_what_the_checkout_asks_for_is_compared_with_what_is_installed(quick):
    root = quick.project.root
    (root / "pyproject.toml").write_text(
        '[project]\nrequires-python = ">=99"\ndependencies = ["numpy>=99"]\noptional-dependencies '
        '= {more = ["absent"], test = ["absent too"]}'
    )
    (root / "constraints.txt").write_text("numpy==0.1\n")
    settings = Settings(constraints="constraints.txt", extras=("more",))
    quick.project = replace(quick.project, settings=settings)
    checks = report.examine(quick.project)
    faults = {name for name, state in states(checks).items() if state == "fault"}
    assert faults == {"Python", "packages"}
    numpy = f"numpy {version('numpy')} (needs >=99)"
    assert named(checks, "packages").result == f"{numpy}; absent is missing"
    assert (
        named(checks, "pinned versions").result
        == f"not those of constraints.txt: numpy {version('numpy')} (0.1)"
    )
    assert not {"pyproject.toml", "constraints.txt"} & set(states(checks))
    (root / "constraints.txt").unlink()
    missing = named(report.examine(quick.project), "constraints.txt")
    assert (missing.state, missing.fix) == ("warning", "Restore it, if the book has had one.")


def test_nothing_is_said_to_install_from_another_checkout(quick):
    (quick.project.root / "ntpcompanion").mkdir()
    (quick.project.root / "pyproject.toml").write_text('[project]\ndependencies = ["absent"]')
    checks = report.examine(quick.project)
    assert states(checks)["ntpcompanion"] == "fault"
    assert not {"packages", "pinned versions"} & set(states(checks))
    assert not any("pip install" in check.fix for check in checks)


def test_a_check_that_falls_over_is_a_fault_and_no_end(quick, monkeypatch):
    def fall(*_):
        raise ZeroDivisionError("a surprise")

    monkeypatch.setattr(report, "check_memory", fall)
    (quick.project.root / "pyproject.toml").write_text("[project")
    checks = report.examine(quick.project)
    assert (
        named(checks, "machine").result
        == "could not be examined further: ZeroDivisionError: a surprise"
    )
    assert named(checks, "packages").state == "fault"
    assert [check.name for check in checks].count("disk") == 2


@pytest.mark.parametrize(
    ("free", "state", "shown"),
    [(2**31, "ok", "2.0 GiB"), (2**31 - 1, "warning", "2.0"), (2**27, "fault", "128 MiB")],
)
def test_disk(free, state, shown):
    check = report.check_disk(Path("/somewhere"), free)
    assert (check.state, shown in check.result) == (state, True)
    assert ("`make clean`" in check.fix) == (state != "ok")


def test_memory():
    assert report.check_memory(2**33, 2**34).result == "8.0 GiB available of 16.0 GiB"
    low = report.check_memory(2**31, 2**34)
    assert (low.state, "`--jobs 1`" in low.fix) == ("warning", True)


@pytest.mark.parametrize(("path", "state"), [("/usr/bin/chromium", "ok"), (None, "warning")])
def test_chromium(toy, monkeypatch, path, state):
    monkeypatch.setattr(report, "find_browser", lambda: path)
    check = named(report.machine(toy.project), "Chromium")
    assert (check.state, "`make browser`" in check.fix) == (state, path is None)


def test_lines_are_aligned_and_leave_paths_and_commands_whole():
    path = "/a/very/long/path/that/does/not/fit/into/the/line/and/must/be/copied-by-hand"
    check = Check("write access", "fault", f"rejected: {path}", "Run `x`. " * 9)
    lines = report.shown(check, 60).splitlines()
    assert lines[0] == "fault    write access           rejected:"
    assert lines[1] == " " * 32 + path
    assert " ".join(lines[2:]).split() == ["Run", "`x`."] * 9
    assert all(len(line) <= 60 and line.startswith(" " * 9) for line in lines[2:])
    assert report.shown(Check("torch", "ok", "2.13"), 60) == f"ok       torch{' ' * 18}2.13"


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
    monkeypatch.setattr(commands, "examine", lambda project: checks)
    output = toy.command("doctor", code=code)
    assert output.endswith(last)
    assert output.count("Fix it.") == len(found) - found.count("ok")
    assert f"{found[0]} check 0 [bold] is not markup" in output


def test_outside_of_a_checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(commands.app, ["doctor"])
    assert result.exit_code == 1
    assert "Change into the checkout." in " ".join(result.output.split())

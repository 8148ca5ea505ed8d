"""What is examined on this machine, and on machines that are made up; the command and its exit
code.
"""

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


def named(checks, name):
    return next(check for check in checks if check.name == name)


def states(checks):
    return {check.name: check.state for check in checks}


def test_this_machine_has_no_fault(toy):
    checks = report.examine(toy.project)
    assert [check for check in checks if check.state == "fault"] == []
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


def test_what_the_checkout_asks_for_is_compared_with_what_is_installed(quick, monkeypatch):
    root = quick.project.root
    (root / "pyproject.toml").write_text(
        '[project]\nrequires-python = ">=99"\ndependencies = ["numpy>=99"]\noptional-dependencies '
        '= {more = ["absent"], test = ["absent too"]}'
    )
    (root / "constraints.txt").write_text("numpy==0.1\n")
    settings = Settings(constraints="constraints.txt", extras=("more",))
    quick.project = replace(quick.project, settings=settings)
    monkeypatch.setattr(report, "run", lambda *_, **__: Ended(1, "typer requires rich.\n", ""))
    monkeypatch.setattr(sys, "executable", "/a place/python")
    checks = report.examine(quick.project)
    assert {name for name, state in states(checks).items() if state == "fault"} == {
        "Python",
        "packages",
    }
    numpy = f"numpy {version('numpy')}"
    assert named(checks, "packages").result == f"{numpy} (needs >=99); absent is missing"
    pins = named(checks, "pinned versions")
    assert pins.result == f"not those of constraints.txt: {numpy} (0.1)"
    assert named(checks, "pip check").result == "typer requires rich."
    command = "'/a place/python' -m pip install -c constraints.txt -e '.[more]'"
    for name in ("packages", "pinned versions", "pip check"):
        assert named(checks, name).fix.startswith(f"In the checkout: `{command}`, or remove")


def test_nothing_is_said_to_install_from_another_checkout(quick):
    (quick.project.root / "ntpcompanion").mkdir()
    (quick.project.root / "pyproject.toml").write_text('[project]\ndependencies = ["absent"]')
    checks = report.examine(quick.project)
    assert states(checks)["ntpcompanion"] == "fault"
    assert not {"packages", "pinned versions"} & set(states(checks))
    assert not any("pip install" in check.fix for check in checks)


def test_a_check_that_falls_over_is_a_fault_and_no_end(quick):
    (quick.project.root / "pyproject.toml").write_text("[project")
    checks = report.examine(quick.project)
    fallen = named(checks, "packages")
    assert fallen.result.startswith("could not be examined further: TOMLDecodeError")
    assert fallen.state == "fault"
    assert [check.name for check in checks].count("disk") == 2


@pytest.mark.parametrize(
    ("free", "state"), [(2**31, "ok"), (2**31 - 1, "warning"), (2**27, "fault")]
)
def test_disk(free, state):
    check = report.check_disk(Path("/somewhere"), free)
    assert (check.state, "`make clean`" in check.fix) == (state, state != "ok")


def test_pins_are_compared_without_the_build_of_a_version(monkeypatch):
    installed = {"numpy": "2.4.6", "torch": "2.13.0+cpu", "Papermill": "2.7.0"}.get
    monkeypatch.setattr(report, "_version_of", installed)
    pins = ["# a comment", "", "numpy==2.4.6", "torch==2.13.0  # no build", "absent==1.0"]
    pins += ["Papermill==9; sys_platform == 'nowhere'"]
    assert report.check_pins(pins, "c.txt", "Again.").state == "ok"
    check = report.check_pins([*pins, "Papermill==2.6.0"], "c.txt", "Again.")
    assert check.result == "not those of c.txt: Papermill 2.7.0 (2.6.0)"
    many = report.check_pins(["numpy==1"] * 15, "c.txt", "Again.")
    assert many.result.endswith("numpy 2.4.6 (1) and 3 more")
    fine = ["numpy>=2,<3", "torch>=2.6", "winonly; sys_platform == 'nowhere'"]
    assert report.check_packages(fine, "Again.").result.startswith("all 2 installed")


def test_a_kernel_that_imports_another_package_is_a_fault(tmp_path):
    for other in ("/site/toypkg/__init__.py", "None"):
        stray = report.check_kernel(other, tmp_path / "toypkg")
        assert (stray.state, "PYTHONPATH" in stray.fix) == ("fault", True)


@pytest.mark.parametrize(
    ("code", "words"),
    [("import missing_thing", "missing_thing"), ("import time; time.sleep(100)", "4 seconds")],
)
def test_a_kernel_that_dies_or_never_answers_says_so(toy, monkeypatch, code, words):
    (toy.project.root / "comm.py").write_text(code)
    monkeypatch.setattr(report, "LIMIT", 60 if "missing" in code else 4)
    (check,) = report.kernel(toy.project)
    assert (check.state, words in check.result) == ("fault", True)
    assert "pip install" in check.fix


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

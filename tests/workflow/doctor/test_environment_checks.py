"""What the checks of an environment say of facts that are made up, and of kernels that fail."""

import sys

import pytest

from ntpcompanion.workflow.base.processes import Ended
from ntpcompanion.workflow.doctor import doctor_report as checks

INSTALLED = {"numpy": "2.4.6", "torch": "2.13.0+cpu", "papermill": "2.7.0"}.get


@pytest.fixture(autouse=True)
def _installed(monkeypatch):
    monkeypatch.setattr(checks, "_version_of", lambda name: INSTALLED(name.lower()))


def test_python_is_in_the_range():
    assert checks.check_python("3.11.7", ">=3.11").state == "ok"
    assert checks.check_python("3.15.0rc1", ">=3.11").state == "ok"
    old = checks.check_python("3.10.2", ">=3.11")
    assert old.result == f"3.10.2, {sys.executable}; the project needs >=3.11"
    assert (old.state, "make PYTHON=python3.12 book" in old.fix) == ("fault", True)


def test_packages_that_are_missing_or_out_of_range():
    fine = ["numpy>=2,<3", "torch>=2.6", "papermill", "winonly; sys_platform == 'nowhere'"]
    check = checks.check_packages(fine, "Again.")
    assert (check.state, check.result) == ("ok", "all 3 installed, in the ranges of pyproject.toml")
    check = checks.check_packages([*fine, "numpy>=2,<2.1", "absent>=1"], "Again.")
    assert (check.state, check.fix) == ("fault", "Again.")
    assert check.result == "numpy 2.4.6 (needs <2.1,>=2); absent is missing"


def test_pins_are_compared_without_the_build_of_a_version():
    pins = ["# a comment", "", "numpy==2.4.6", "torch==2.13.0  # no build", "absent==1.0"]
    pins += ["papermill==9; sys_platform == 'nowhere'"]
    found = checks.check_pins(pins, "c.txt", "Again.").result
    assert found == "the 2 installed ones are those of c.txt"
    check = checks.check_pins([*pins, "Papermill==2.6.0"], "c.txt", "Again.")
    assert check.result == "not those of c.txt: Papermill 2.7.0 (2.6.0)"
    assert (check.state, "numbers may move within their bands" in check.fix) == ("warning", True)
    many = checks.check_pins(["numpy==1"] * 15, "c.txt", "Again.")
    assert many.result.endswith("numpy 2.4.6 (1) and 3 more")


def test_a_kernel_of_this_package(tmp_path):
    package = tmp_path / "toypkg"
    good = checks.check_kernel(str(package / "__init__.py"), package)
    assert good.result == "starts, and imports toypkg from here"
    for other in ("/site/toypkg/__init__.py", "None"):
        stray = checks.check_kernel(other, package)
        assert stray.result == f"it imports toypkg from {other}, not from {package}"
        assert (stray.state, "PYTHONPATH" in stray.fix) == ("fault", True)


def test_a_kernel_that_dies_says_why(toy):
    (toy.project.root / "comm.py").write_text("import missing_thing")
    (check,) = checks.kernel(toy.project)
    assert (check.state, "missing_thing" in check.result) == ("fault", True)
    assert "pip install" in check.fix


def test_a_kernel_that_never_answers_is_given_up(toy, monkeypatch):
    (toy.project.root / "comm.py").write_text("import time\ntime.sleep(100)")
    monkeypatch.setattr(checks, "LIMIT", 2)
    (check,) = checks.kernel(toy.project)
    assert (check.state, check.result) == ("fault", "no cell could be run: no answer within 2 s")


def test_what_pip_and_the_build_reject_is_said(toy, monkeypatch):
    said = "typer 1.0 requires rich>=10, which is not installed.\n"
    monkeypatch.setattr(checks, "run", lambda *_, **__: Ended(1, said, ""))
    found = {check.name: check for check in checks.packages(toy.project)}
    assert (found["pip check"].state, found["pip check"].result) == ("warning", said.strip())


@pytest.mark.skipif(sys.platform == "win32", reason="compares commands as a POSIX shell does")
def test_what_to_install_is_said_for_this_interpreter(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/a place/python")
    said = "In the checkout: `'/a place/python' -m pip install -c c.txt x`"
    assert checks.install(("book",), "c.txt", "x").startswith(said)
    assert "pip install -e .`" in checks.install((), None)
    assert "pip install -e '.[a,b]'`" in checks.install(("b", "a"), None)

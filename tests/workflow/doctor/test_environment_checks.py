"""What the checks of an environment say of facts that are made up, and of kernels that fail."""

import sys

import pytest

from ntpcompanion.workflow.base.processes import Ended
from ntpcompanion.workflow.doctor import environment_checks as checks

INSTALLED = {"numpy": "2.4.6", "torch": "2.13.0+cpu", "papermill": "2.7.0"}.get


@pytest.fixture(autouse=True)
def _in_an_environment(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr(checks, "_version_of", lambda name: INSTALLED(name.lower()))
    monkeypatch.chdir(tmp_path)


def test_python_is_in_the_range():
    assert checks.check_python("3.11.7", ">=3.11").state == "ok"
    assert checks.check_python("3.15.0rc1", ">=3.11").state == "ok"
    old = checks.check_python("3.10.2", ">=3.11")
    assert old.found == f"3.10.2, {sys.executable}; the project needs >=3.11"
    assert (old.state, "make PYTHON=python3.12 book" in old.fix) == ("fault", True)


def test_the_command_is_that_of_the_checkout(tmp_path):
    own, other = tmp_path / "mine" / "ntpcompanion", tmp_path / "other" / "ntpcompanion"
    # a project without a package of its own
    assert checks.check_package(other, tmp_path / "mine").state == "ok"
    own.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    assert checks.check_package(own, tmp_path / "link").state == "ok"
    wrong = checks.check_package(other, tmp_path / "mine")
    assert (wrong.state, wrong.found) == (
        "fault",
        f"this command runs {other}; notebooks that run here import {own}",
    )
    assert str(tmp_path / "mine" / ".venv" / "bin" / "ntpcompanion") in wrong.fix


@pytest.mark.parametrize(
    ("extra", "needed", "state"),
    [("", True, "fault"), ("book", True, "fault"), ("test", False, "warning")],
)
def test_packages_that_are_missing_or_out_of_range(extra, needed, state):
    fine = ["numpy>=2,<3", "torch>=2.6", "papermill", "winonly; sys_platform == 'nowhere'"]
    check = checks.check_packages(extra, fine, "Again.", needed=needed)
    assert (check.state, check.found) == ("ok", "all 3 installed, in the ranges of pyproject.toml")
    bad = [*fine, "numpy>=2,<2.1", "absent>=1"]
    check = checks.check_packages(extra, bad, "Again.", needed=needed)
    assert (check.state, check.name) == (state, f"packages for {extra}" if extra else "packages")
    assert check.found == "numpy 2.4.6 (needs <2.1,>=2); absent is missing"
    assert check.fix.startswith("Again.")
    assert ("The book needs none of these." in check.fix) == (state == "warning")


def test_pins_are_compared_without_the_build_of_a_version():
    pins = ["# a comment", "", "numpy==2.4.6", "torch==2.13.0  # no build", "absent==1.0"]
    pins += ["papermill==9; sys_platform == 'nowhere'"]
    found = checks.check_pins(pins, "c.txt", "Again.").found
    assert found == "the 2 installed ones are those of c.txt"
    check = checks.check_pins([*pins, "Papermill==2.6.0"], "c.txt", "Again.")
    assert check.found == "not those of c.txt: Papermill 2.7.0 (2.6.0)"
    assert (check.state, "numbers may move within their bands" in check.fix) == ("warning", True)
    many = checks.check_pins(["numpy==1"] * 15, "c.txt", "Again.")
    assert many.found.endswith("numpy 2.4.6 (1) and 3 more")


def test_a_kernel_of_this_package(tmp_path):
    package = tmp_path / "toypkg"
    good = checks.check_kernel(str(package / "__init__.py"), package)
    assert good.found == "starts, and imports toypkg from here"
    for other in ("/site/toypkg/__init__.py", "None"):
        stray = checks.check_kernel(other, package)
        assert stray.found == f"it imports toypkg from {other}, not from {package}"
        assert (stray.state, "PYTHONPATH" in stray.fix) == ("fault", True)


def test_a_kernel_that_dies_says_why(toy):
    (toy.project.root / "comm.py").write_text("import missing_thing")
    (check,) = checks.kernel(toy.project)
    assert (check.state, "missing_thing" in check.found) == ("fault", True)
    assert "pip install" in check.fix


def test_a_kernel_that_never_answers_is_given_up(toy, monkeypatch):
    (toy.project.root / "comm.py").write_text("import time\ntime.sleep(100)")
    monkeypatch.setattr(checks, "LIMIT", 2)
    (check,) = checks.kernel(toy.project)
    assert (check.state, check.found) == ("fault", "no cell could be run: no answer within 2 s")


def test_what_pip_and_the_build_reject_is_said(toy, monkeypatch):
    said = "typer 1.0 requires rich>=10, which is not installed.\n"
    monkeypatch.setattr(checks, "run", lambda *_, **__: Ended(1, said, ""))
    found = {check.name: check for check in checks.packages(toy.project)}
    assert (found["pip check"].state, found["pip check"].found) == ("warning", said.strip())


@pytest.mark.skipif(sys.platform == "win32", reason="compares commands as a POSIX shell does")
def test_what_to_install_is_said_for_this_interpreter(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv" / "bin" / "python"))
    said = "In the checkout: `.venv/bin/python -m pip install -c c.txt x`."
    assert checks.install(("book",), "c.txt", "x") == said
    assert checks.install((), None).endswith("pip install -e .`.")
    assert checks.install(("b", "a"), None).endswith("pip install -e '.[a,b]'`.")
    monkeypatch.setattr(sys, "executable", "/a place/python")
    assert "`'/a place/python' -m pip" in checks.install((), None)
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    assert "`make book` sets one up in .venv" in checks.install((), None)
    monkeypatch.setenv("CONDA_PREFIX", "/conda")
    assert "-m pip install" in checks.install((), None)

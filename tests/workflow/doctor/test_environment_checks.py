"""What the checks of an environment say of facts that are made up."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.doctor import environment_checks as checks
from ntpcompanion.workflow.doctor.environment_checks import Install, KernelAnswer

INSTALL = Install(("test", "book"), "constraints.txt")
INSTALLED = {"numpy": "2.4.6", "torch": "2.13.0+cpu", "papermill": "2.7.0"}.get


@pytest.fixture(autouse=True)
def _in_an_environment(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv" / "bin" / "python"))
    monkeypatch.chdir(tmp_path)


def test_python_is_in_the_range():
    assert checks.check_python("3.11.7", ">=3.11").state == "ok"
    assert checks.check_python("3.15.0rc1", ">=3.11").state == "ok"
    old = checks.check_python("3.10.2", ">=3.11")
    assert (old.state, old.found) == (
        "fault",
        f"3.10.2, {sys.executable}; the project needs >=3.11",
    )
    assert "make PYTHON=python3.12 book" in old.fix


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


def test_packages_in_their_ranges():
    assert (
        checks.check_packages("", ["numpy>=2"], lambda name: "2.5.0rc1", INSTALL, needed=True).state
        == "ok"
    )
    check = checks.check_packages(
        "",
        ["numpy>=2,<3", "torch>=2.6", "papermill", "winonly; sys_platform == 'nowhere'"],
        INSTALLED,
        INSTALL,
        needed=True,
    )
    assert (check.state, check.found) == ("ok", "all 3 installed, in the ranges of pyproject.toml")


@pytest.mark.skipif(
    sys.platform == "win32", reason="compares commands as a POSIX shell quotes them"
)
@pytest.mark.parametrize(
    ("extra", "needed", "state"),
    [("", True, "fault"), ("book", True, "fault"), ("test", False, "warning")],
)
def test_packages_that_are_missing_or_out_of_range(extra, needed, state):
    required = ["numpy>=2,<2.1", "torch>=2.6", "absent>=1"]
    check = checks.check_packages(extra, required, INSTALLED, INSTALL, needed=needed)
    assert (check.state, check.name) == (state, f"packages for {extra}" if extra else "packages")
    assert check.found == "numpy 2.4.6 (needs <2.1,>=2); absent is missing"
    assert ".venv/bin/python -m pip install -c constraints.txt -e '.[book,test]'`" in check.fix
    assert ("The book needs none of these." in check.fix) == (state == "warning")


def test_pins_are_compared_without_the_build_of_a_version():
    pins = [
        "# a comment",
        "",
        "numpy==2.4.6",
        "torch==2.13.0  # no build",
        "absent==1.0",
        "papermill==9; sys_platform == 'nowhere'",
    ]
    assert (
        checks.check_pins(pins, INSTALLED, INSTALL).found
        == "the 2 installed ones are those of constraints.txt"
    )
    check = checks.check_pins(
        [*pins, "Papermill==2.6.0"], lambda name: INSTALLED(name.lower()), INSTALL
    )
    assert (check.state, check.found) == (
        "warning",
        "not those of constraints.txt: Papermill 2.7.0 (2.6.0)",
    )
    assert "numbers may move within their bands" in check.fix


@pytest.mark.parametrize(
    ("pins", "end"), [(12, "p11 2 (1)"), (13, "p11 2 (1) and 1 more"), (15, "p11 2 (1) and 3 more")]
)
def test_many_differing_pins_are_counted(pins, end):
    check = checks.check_pins([f"p{i}==1" for i in range(pins)], lambda name: "2", INSTALL)
    assert check.found.endswith(end)


def test_jupyter_book():
    def reject():
        raise WorkflowError(
            "jupyter-book 2.0.1 is installed: version 2 builds nothing. Install another."
        )

    assert checks.check_jupyter_book(lambda: None, lambda name: "1.0.4", INSTALL).found == "1.0.4"
    check = checks.check_jupyter_book(reject, INSTALLED, INSTALL)
    assert (check.state, check.found) == (
        "fault",
        "jupyter-book 2.0.1 is installed: version 2 builds nothing",
    )
    assert "pip install -c constraints.txt" in check.fix


def test_mathjax(tmp_path):
    assert checks.check_mathjax(None, INSTALL).found == "sphinx-mathjax-offline is not installed"
    broken = checks.check_mathjax(tmp_path, INSTALL)
    assert (broken.state, "tex-chtml-full.js is missing" in broken.found) == ("fault", True)
    (tmp_path / "static" / "mathjax").mkdir(parents=True)
    (tmp_path / "static" / "mathjax" / "tex-chtml-full.js").touch()
    assert checks.check_mathjax(tmp_path, INSTALL).state == "ok"


def test_kernel_of_this_interpreter_and_this_package(tmp_path):
    package = tmp_path / "toypkg"
    answer = KernelAnswer("/a/python", str(package / "__init__.py"))
    assert (
        checks.check_kernel(answer, "/a/python", package, INSTALL).found
        == "starts, and imports toypkg from here"
    )
    other = checks.check_kernel(answer, "/b/python", package, INSTALL)
    assert (other.state, other.found) == ("fault", "it runs /a/python, this command runs /b/python")
    stray = checks.check_kernel(
        replace(answer, package="/site/toypkg/__init__.py"), "/a/python", package, INSTALL
    )
    assert (stray.state, stray.found) == (
        "fault",
        f"it imports toypkg from /site/toypkg/__init__.py, not from {package}",
    )
    assert "PYTHONPATH" in stray.fix
    assert (
        "imports toypkg from None"
        in checks.check_kernel(replace(answer, package=None), "/a/python", package, INSTALL).found
    )


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("Kernel died", "python -m ipykernel_launcher --version"),
        ("File name too long", "point TMPDIR to a short path"),
    ],
)
def test_kernel_that_does_not_start(reason, fix):
    check = checks.check_kernel(
        KernelAnswer(failed=reason), sys.executable, Path("toypkg"), INSTALL
    )
    assert (check.state, check.found) == ("fault", f"no cell could be run: {reason}")
    assert fix in check.fix


def test_kernel_that_jupyter_would_start(tmp_path):
    real, mine, theirs = (
        tmp_path / "python3.11",
        tmp_path / "mine" / "bin" / "python3",
        tmp_path / "theirs" / "bin" / "python3",
    )
    real.touch()
    for link in (mine, theirs, mine.with_name("python")):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(real)
    for argv in (["python", "-m"], [str(mine)], [str(mine.with_name("python"))]):
        assert checks.check_kernelspec(argv, "/k", str(mine)).state == "ok"
    check = checks.check_kernelspec([str(theirs)], "/k", str(mine))
    assert (check.state, check.found) == (
        "warning",
        f"a notebook opened by hand would run {theirs}, as /k says",
    )
    assert "Remove /k, or unset JUPYTER_PATH" in check.fix


@pytest.mark.skipif(
    sys.platform == "win32", reason="compares commands as a POSIX shell quotes them"
)
def test_what_to_install_is_said_for_this_interpreter(monkeypatch, tmp_path):
    assert (
        INSTALL("x") == "In the checkout: `.venv/bin/python -m pip install -c constraints.txt x`."
    )
    assert Install()().endswith("pip install -e .`.")
    assert Install(("b", "a"))().endswith("pip install -e '.[a,b]'`.")
    monkeypatch.setattr(sys, "executable", "/a place/python")
    assert "`'/a place/python' -m pip" in INSTALL("x")
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    assert "`make book` sets one up in .venv" in INSTALL("x")
    monkeypatch.setenv("CONDA_PREFIX", "/conda")
    assert "-m pip install" in INSTALL("x")

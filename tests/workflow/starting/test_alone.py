"""A wheel with the extras that a small book asks for, in an environment of its own."""

import os
import subprocess
import sys
import venv

import pytest

from tests.copies import copy_checkout

FOREIGN = ("torch", "cvxpy", "transformers", "datasets")
EXTRAS = "book,plots,workflow"


def run(*command, cwd):
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_the_small_book_builds_with_its_extras_alone(tmp_path):
    checkout = copy_checkout(tmp_path / "checkout")
    build = ["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    run(sys.executable, *build, "--wheel-dir", tmp_path, checkout, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    bin = tmp_path / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    pins = ["-c", checkout / "constraints.txt"]
    run(bin / "python", "-m", "pip", "install", "-q", *pins, f"{wheel}[{EXTRAS}]", cwd=tmp_path)
    installed = run(bin / "python", "-m", "pip", "list", "--format=freeze", cwd=tmp_path).lower()
    assert not [name for name in FOREIGN if f"\n{name}==" in f"\n{installed}"]
    run(bin / "ntpcompanion", "init", "a book", cwd=tmp_path)
    made = tmp_path / "a book"
    assert "Built" in run(bin / "ntpcompanion", "build", cwd=made)
    assert "agree" in run(bin / "ntpcompanion", "check", "--profile", "book", cwd=made)
    run(bin / "ntpcompanion", "doctor", cwd=made)

"""The sdist holds what git knows; the wheel that is built from it holds the package and is used in
a folder far from the checkout.
"""

import os
import subprocess
import sys
import tarfile
import zipfile

import pytest

from tests.copies import copy_checkout

ADDED = ("PKG-INFO", "setup.cfg", "ntpcompanion.egg-info/")  # by a build
BUILD = "from setuptools import build_meta; print(build_meta.build_sdist('..'))"
WHEEL = ("-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", ".")
pytestmark = pytest.mark.slow


def files_below(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def run(*arguments, cwd, path="", code=0):
    """What Python prints and says in a folder where it knows one path and installed packages."""
    environment = {**os.environ, "PYTHONPATH": str(path)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with what git knows (`known`), what the sdist of a used checkout holds (`sdist`),
    and what the wheel holds that is built from that (`site`).
    """
    folder = tmp_path_factory.mktemp("built")
    copy_checkout(folder / "known")
    used = copy_checkout(folder / "used")
    for name in ("book/chapters/dyck.ipynb", "tests/__pycache__/toy.pyc", "_build/runs/dyck.json"):
        (used / name).parent.mkdir(parents=True, exist_ok=True)
        (used / name).write_text("{}")
    run("-c", BUILD, cwd=used)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder / "unpacked", filter="data")
    (sdist,) = (folder / "unpacked").iterdir()
    sdist.rename(folder / "sdist")
    run(*WHEEL, archive, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder


def test_the_sdist_holds_what_git_knows_and_nothing_else(built):
    files = {name for name in files_below(built / "sdist") if not name.startswith(ADDED)}
    assert files == files_below(built / "known")
    assert {"LICENSE", "tests/conftest.py", "tests/oracles.py", "notebooks/dyck.md"} <= files


def test_the_wheel_holds_the_package_and_nothing_else(built):
    own = {name for name in files_below(built / "known") if name.startswith("ntpcompanion/")}
    assert {"ntpcompanion/py.typed", "ntpcompanion/linear/__init__.pyi"} <= own
    assert own == {name for name in files_below(built / "site") if ".dist-info/" not in name}


def test_the_wheel_works_without_the_repository(built, tmp_path):
    code = (
        "import numpy as np, ntpcompanion\n"
        "from ntpcompanion.linear import ContextTable, solve_ntp_svm\n"
        "from ntpcompanion.languages import count_contexts\n"
        "from ntpcompanion.flatness import mean_and_error\n"
        "from ntpcompanion.networks import TransformerSize\n"
        "from ntpcompanion.dyck import lower_bound\n"
        "from ntpcompanion import plots\n"
        "plots.use_style()\n"  # takes its typeface from the package
        "table = ContextTable(np.eye(2), np.eye(2), np.full(2, 0.5))\n"
        "shape = TransformerSize(8, 1, 1).for_sentences(words=20, positions=4)\n"
        "print(ntpcompanion.__file__, ntpcompanion.__version__, plots.THEORY, lower_bound(4),\n"
        "      shape.inner, solve_ntp_svm(table).verdict.name)"
    )
    place = built / "site" / "ntpcompanion" / "__init__.py"
    said = run("-c", code, cwd=tmp_path, path=built / "site")
    assert said == f"{place} 0.1.0 #7a7a7a 1.0 32 SEPARABLE"


@pytest.mark.parametrize("command", [("build",), ("record", "phase")])
def test_commands_say_that_they_need_the_folder_of_a_book(built, tmp_path, command):
    said = run("-m", "ntpcompanion", *command, cwd=tmp_path, path=built / "site", code=1)
    assert f"No project at or above {tmp_path}" in said
    assert "`_config.yml` and `notebooks/`" in said
    assert "Traceback" not in said

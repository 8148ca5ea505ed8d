"""The wheel, used in a folder far from the checkout by processes that know only it and the
installed packages.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path, PurePath

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """A folder with what the wheel holds. It is built from a copy: builds write beside sources."""
    folder = tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "ntpcompanion"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in ["pyproject.toml", "README.md", "LICENSE", *listed.split("\0")]:
        if name and (ROOT / name).is_file():
            target = folder / "source" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    subprocess.run(
        [*build, "--wheel-dir", folder, folder / "source"], check=True, capture_output=True
    )
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def run(unpacked, tmp_path):
    """A function: run Python with the wheel in an empty folder; what it printed and said."""

    def started(*arguments, code=0):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(unpacked)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return " ".join((done.stdout + done.stderr).split())

    return started


def test_it_holds_the_package_whole_and_nothing_else(unpacked):
    files = {
        path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()
    }
    assert {"ntpcompanion/py.typed", "ntpcompanion/linear/__init__.pyi"} <= files
    package = ROOT / "ntpcompanion"
    for kind in ("*.py", "templates/*"):
        own = {path.relative_to(ROOT).as_posix() for path in package.rglob(kind)}
        assert own == {name for name in files if PurePath(name).match(kind)}, kind


@pytest.mark.slow
def test_the_rooms_work_without_the_repository(run, unpacked):
    code = (
        "import numpy as np, ntpcompanion\n"
        "from ntpcompanion.linear import ContextTable, solve_ntp_svm\n"
        "from ntpcompanion.languages import count_contexts\n"
        "from ntpcompanion.flatness import mean_and_error\n"
        "from ntpcompanion.dyck import lower_bound\n"
        "from ntpcompanion import plots\n"
        "plots.use_style()\n"  # takes its typeface from the package
        "table = ContextTable(np.eye(2), np.eye(2), np.full(2, 0.5))\n"
        "print(ntpcompanion.__file__, ntpcompanion.__version__, plots.THEORY, lower_bound(4),\n"
        "      solve_ntp_svm(table).verdict.name)"
    )
    place = unpacked / "ntpcompanion" / "__init__.py"
    assert run("-c", code) == f"{place} 0.1.0 #7a7a7a 1.0 SEPARABLE"


@pytest.mark.parametrize(
    "command",
    [
        ("build",),
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (("execute",), ("check",), ("record", "phase"), ("why", "dyck"))
        ),
    ],
)
def test_commands_say_that_they_need_the_folder_of_a_book(run, tmp_path, command):
    said = run("-m", "ntpcompanion", *command, code=1)
    assert f"No project at or above {tmp_path}" in said
    assert "`_config.yml` and `notebooks/`" in said
    assert "Traceback" not in said


def test_building_leaves_nothing_that_git_would_take():
    for name in ("build/lib", "ntpcompanion.egg-info/PKG-INFO", "dist/a.whl", ".venv", "_build"):
        done = subprocess.run(["git", "check-ignore", "--no-index", "-q", name], cwd=ROOT)
        assert done.returncode == 0, f"{name} is not ignored"

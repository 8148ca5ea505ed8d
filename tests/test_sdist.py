"""The sdist: it holds what git knows, its tests run, and a wheel built from it can be used."""

import os
import subprocess
import sys
import tarfile
import zipfile

import pytest

from tests.copies import copy_checkout

# what a build adds
ADDED = ("PKG-INFO", "setup.cfg", "ntpcompanion.egg-info/")
BUILD = "from setuptools import build_meta; print(build_meta.build_sdist('..'))"


def files_below(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def run(*arguments, cwd, path):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """What git knows, in a folder where nothing was built."""
    return copy_checkout(tmp_path_factory.mktemp("sdist") / "checkout")


@pytest.fixture(scope="module")
def unpacked(known):
    """What an sdist holds that is built where chapters and compiled copies lie about."""
    checkout = copy_checkout(known.parent / "used")
    for name in ("book/chapters/dyck.ipynb", "tests/__pycache__/toy.pyc", "_build/runs/dyck.json"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("{}")
    run("-c", BUILD, cwd=checkout, path="")
    (archive,) = known.parent.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(known.parent / "unpacked", filter="data")
    (folder,) = (known.parent / "unpacked").iterdir()
    return folder


def test_it_holds_what_git_knows_and_nothing_else(known, unpacked):
    files = {name for name in files_below(unpacked) if not name.startswith(ADDED)}
    assert files == files_below(known)
    wanted = {"LICENSE", "tests/conftest.py", "tests/oracles.py", "notebooks/dyck.md"}
    assert wanted <= files


@pytest.mark.slow
def test_its_tests_run(unpacked):
    options = ["-q", "-n", "0", "-p", "no:cacheprovider"]
    said = run(
        "-m", "pytest", *options, "tests/languages/text/test_words.py", cwd=unpacked, path=unpacked
    )
    assert "passed" in said
    assert "failed" not in said


@pytest.mark.slow
def test_a_wheel_that_is_built_from_it_can_be_used(known, unpacked):
    folder = known.parent
    (archive,) = folder.glob("*.tar.gz")
    build = ["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    run(*build, "--wheel-dir", folder, archive, cwd=folder, path="")
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    own = {name for name in files_below(known) if name.startswith("ntpcompanion/")}
    assert own <= files_below(folder / "site")
    code = (
        "import ntpcompanion\n"
        "from ntpcompanion.networks import TransformerSize\n"
        "from ntpcompanion.dyck import lower_bound\n"
        "shape = TransformerSize(8, 1, 1).for_sentences(words=20, positions=4)\n"
        "print(ntpcompanion.__file__, shape.inner, lower_bound(4))"
    )
    said = run("-c", code, cwd=folder, path=folder / "site").split()
    assert said == [str(folder / "site" / "ntpcompanion" / "__init__.py"), "32", "1.0"]

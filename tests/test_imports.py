"""The package map: who may import whom."""

import ast
import json
import re
import subprocess
import sys

import pytest

from tests.sources import FILES, PACKAGE, ROOT, parsed, relative

CHECKED = {"lazy_names", "checks", "validation"}
MAY_IMPORT = {
    "__init__": set(),
    "randomness": set(),
    "lazy_names": set(),
    "recorded": set(),
    "settings": {"spelling"},
    "spelling": set(),
    "validation": set(),
    "checks": {"annotation_checks", "validation"},
    "annotation_checks": {"checks", "validation"},
    "numerics": {"checks", "validation"},
    "statistics": CHECKED,
    "languages": CHECKED | {"numerics", "randomness"},
    "flatness": CHECKED | {"randomness"},
    "linear": CHECKED | {"languages", "numerics", "randomness"},
    "dyck": CHECKED | {"languages", "randomness"},
    "geometry": CHECKED | {"linear", "numerics"},
    "networks": CHECKED,
    "attention": CHECKED | {"linear", "randomness"},
    "capacity": CHECKED | {"languages", "linear", "networks", "randomness"},
    "generalization": CHECKED | {"randomness"},
    "adaptation": CHECKED | {"languages", "networks", "numerics", "randomness", "statistics"},
    "planning": CHECKED | {"networks", "randomness"},
    "mlm": CHECKED | {"languages", "networks", "numerics", "randomness"},
}
SCIENCE = {*MAY_IMPORT} - {"__init__", "settings", "spelling", "annotation_checks"}
MAY_IMPORT |= {
    "experiments": SCIENCE,  # where the others meet: frozen plan → typed result
    # for the types of results
    "plots": SCIENCE - {"numerics", "randomness", "recorded", "geometry", "networks"}
    | {"experiments"},
    "workflow": {"lazy_names", "recorded", "settings", "spelling"},  # knows no mathematics
    "__main__": {"workflow"},
}
# each imports those before it
WORKFLOW = (
    "base",
    "notebooks",
    "claims",
    "hashing",
    "running",
    "checking",
    "sweeps",
    "records",
    "pages",
    "printing",
    "site",
    "doctor",
    "starting",
    "cli",
)


def package_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path):
    names = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path.name}: imports are absolute"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def test_imports_follow_the_map():
    unknown = {package_of(path) for path in FILES} - set(MAY_IMPORT)
    assert not unknown, f"{sorted(unknown)} not on the map: say what they may import"
    stray = {
        f"{relative(path)} may not import {name}"
        for path in FILES
        for name in imported(path)
        if name.startswith("ntpcompanion.")
        and name.split(".")[1] not in MAY_IMPORT[package_of(path)] | {package_of(path)}
    }
    assert stray == set()


def test_the_parts_of_the_workflow_import_one_way():
    stray = {
        f"workflow/{part} may not import {name}: {path.name}"
        for number, part in enumerate(WORKFLOW)
        for path in (PACKAGE / "workflow" / part).glob("*.py")
        for name in imported(path)
        if name.startswith("ntpcompanion.workflow.")
        and name.split(".")[2] not in WORKFLOW[: number + 1]
    }
    assert stray == set()
    parts = {path.parent.name for path in (PACKAGE / "workflow").glob("*/*.py")}
    assert parts == set(WORKFLOW)


def test_a_part_of_the_workflow_says_what_is_where():
    left_out = []
    for part in WORKFLOW:
        folder = PACKAGE / "workflow" / part
        named = re.findall(
            r"`(\w+)`(?=[^:\n]*:)", ast.get_docstring(parsed(folder / "__init__.py"))
        )
        modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
        left_out += sorted(f"{part}: {module}" for module in modules - set(named))
    assert left_out == []


def test_numerical_and_drawing_libraries_stay_in_their_rooms():
    heavy = {"torch", "scipy", "cvxpy", "matplotlib", "seaborn", "numpy"}
    found = {
        path.name
        for path in FILES
        if package_of(path) == "workflow"
        for name in imported(path)
        if name.split(".")[0] in heavy
    }
    assert found == {"verdict.py", "value_comparison.py"}, (
        "a verdict and Welch's test take Student's t, imported when they are computed"
    )


HEAVY = {"numpy", "scipy", "torch", "cvxpy", "sympy", "pandas", "matplotlib", "distributed"}
# what a user of one module waits for: cvxpy (a second), torch (a second) and sympy (half a second)
# only where everything in it needs them
MAY_LOAD = {
    "": ["workflow", "workflow.cli.commands"],
    "numpy": [
        "validation",
        "languages.text.words",
        "languages.text.corpus",
        "dyck.sentences",
        "dyck.bound",
    ],
    "numpy scipy": [
        "languages.text.counting",
        "linear.tables.contexts",
        "linear.separability.decision",
        "linear.dynamics.descent",
        "linear.dynamics.flow",
        "linear.dynamics.regularization_path",
        "dyck.solutions",
        "dyck.bracket_counting",
        "dyck.minimizer_path",
    ],
    "numpy torch": [
        "languages.hmm",
        "languages.grammars.pcfg",
        "flatness.trace_estimators",
        "flatness.averages",
    ],
    "numpy scipy torch": ["linear.svm.next_token_svm", "flatness.valley_flow"],
}


@pytest.mark.parametrize(("may_load", "modules"), MAY_LOAD.items())
def test_a_module_loads_no_library_that_it_can_do_without(may_load, modules):
    """One process for those that may load the same, and what has been loaded after each."""
    code = f"""
import importlib, json, sys
loaded = {{}}
for module in {modules}:
    importlib.import_module("ntpcompanion." + module)
    loaded[module] = sorted({HEAVY} & set(sys.modules))
print(json.dumps(loaded))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(run.stdout)
    assert list(loaded) == modules
    assert {
        name: found for name, found in loaded.items() if set(found) - set(may_load.split())
    } == {}


def test_every_package_has_tests_in_the_folder_of_its_name():
    folders = {path.parent.relative_to(PACKAGE) for path in FILES if path.stem != "__init__"}
    assert {str(f) for f in folders if not [*(ROOT / "tests" / f).glob("test_*.py")]} == set()

"""The package map: who may import whom."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "ntpcompanion"
MAY_IMPORT = {
    "__init__": set(),
    "randomness": set(),
    "faces": set(),
    "settings": {"spelling"},
    "spelling": set(),
    "argument_check": set(),
    "validation": {"argument_check"},
    "checks": {"argument_check", "validation"},
    "languages": {"argument_check", "faces", "randomness", "validation"},
    "flatness": {"argument_check", "faces", "randomness", "validation"},
    "linear": {"argument_check", "faces", "languages", "randomness", "validation"},
    "dyck": {"argument_check", "faces", "languages", "randomness", "validation"},
    "geometry": {"faces", "linear", "validation"},
    "networks": {"argument_check", "checks", "faces", "validation"},
    "attention": {"faces", "linear", "randomness", "validation"},
    "capacity": {"faces", "languages", "linear", "networks", "randomness", "validation"},
    "generalization": {"argument_check", "faces", "randomness", "validation"},
    "planning": {"argument_check", "checks", "faces", "networks", "randomness", "validation"},
    "mlm": {
        "argument_check",
        "checks",
        "faces",
        "languages",
        "networks",
        "randomness",
        "validation",
    },
    # where the others meet: frozen plan → typed result
    "experiments": {
        "faces",
        "randomness",
        "validation",
        "languages",
        "linear",
        "flatness",
        "dyck",
        "geometry",
        "networks",
        "planning",
        "attention",
        "capacity",
        "generalization",
        "mlm",
    },
    # for the types of results
    "plots": {
        "argument_check",
        "checks",
        "faces",
        "validation",
        "languages",
        "linear",
        "flatness",
        "dyck",
        "planning",
        "attention",
        "capacity",
        "generalization",
        "mlm",
        "experiments",
    },
    "workflow": {"faces", "settings", "spelling"},  # knows no mathematics
    "terminal": {"workflow"},
    "terminal_checks": {"workflow", "terminal"},
    "options": {"workflow"},
    "cli": {"workflow", "terminal", "terminal_checks", "options"},
    "__main__": {"cli", "workflow"},  # of which it has something begun while cli is loaded
}
# each imports those before it
WORKFLOW = (
    "base",
    "notebooks",
    "claims",
    "running",
    "checking",
    "records",
    "timing",
    "site",
    "doctor",
    "starting",
)
TEMPLATE = PACKAGE / "workflow" / "starting" / "template"  # a book of its own
FILES = sorted(path for path in PACKAGE.rglob("*.py") if TEMPLATE not in path.parents)


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


@pytest.mark.parametrize("part", WORKFLOW)
def test_a_part_of_the_workflow_says_what_is_where(part):
    text = ast.get_docstring(ast.parse((PACKAGE / "workflow" / part / "__init__.py").read_text()))
    named = set(re.findall(r"`(\w+)`(?=[^:\n]*:)", text))
    modules = {path.stem for path in (PACKAGE / "workflow" / part).glob("*.py")} - {"__init__"}
    assert named >= modules, f"not listed: {sorted(modules - named)}"


def test_numerical_and_drawing_libraries_stay_in_their_rooms():
    heavy = {"torch", "scipy", "cvxpy", "matplotlib", "seaborn", "numpy"}
    found = {
        path.name
        for path in FILES
        if room(path) in ("workflow", "terminal", "terminal_checks", "options", "cli")
        for name in imported(path)
        if name.split(".")[0] in heavy
    }
    assert found == {"intervals.py"}, (
        "a verdict takes a quantile of Student's t, imported when it is computed"
    )


def test_importing_the_package_loads_nothing_heavy():
    heavy = {"torch", "matplotlib", "scipy", "cvxpy", "numpy", "pandas", "distributed"}
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


HEAVY = {"scipy", "torch", "cvxpy", "sympy", "pandas", "matplotlib"}
# what a user of one module waits for: cvxpy (a second), torch (a second) and sympy (half a second)
# only where everything in it needs them
MAY_LOAD = {
    "": ["validation", "languages.words", "languages.corpus", "dyck.sentences", "dyck.bound"],
    "scipy": [
        "languages.counting", "linear.contexts", "linear.separability", "linear.descent",
        "linear.flow", "linear.regularization_path", "dyck.solutions", "dyck.downstream",
        "dyck.valley",
    ],
    "torch": ["languages.hmm", "languages.pcfg", "flatness.trace", "flatness.averages"],
    "scipy torch": ["linear.svm", "flatness.drift"],
}  # fmt: skip


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
        "argument_check.py",  # with what reads the mark, in workflow/running/test_purity.py
        "workflow/hashing/catching.py",
        # what records rest on, in workflow/running/test_reach.py
        *(f"workflow/running/{n}.py" for n in ("bindings", "modules", "statements", "tree_hash")),
        "flatness/flatness_checks.py",  # through every name of the face, in flatness/test_wrong_calls.py
        "linear/tables/table_checks.py",  # every refusal is tested through ContextTable
        "experiments/thresholds/text_plan.py",  # through the plans of the three text experiments
        "plots/drawing/plot_checks.py",  # test_wrong_calls.py
        "languages/grammars/rewriting.py",  # through the samples of test_pcfg.py
        # test_train.py, test_wrong_calls.py
        "mlm/training/regularizer.py", "mlm/training/train_checks.py",
        "planning/planning_checks.py",  # test_wrong_calls.py
        # test_execute.py starts real workers
        "workflow/base/messages.py", "workflow/running/runs.py",
        # test_notebook.py, test_cli.py
        "workflow/base/errors.py", "workflow/notebooks/profiles.py",
        "workflow/records/show.py",  # test_record.py
        # test_layout.py, test_start.py, drills/test_hermetic.py
        "workflow/running/declared.py", "workflow/running/confine.py",
        "workflow/running/kernel.py",
        "workflow/site/look.py",  # test_render.py, test_plain_sphinx.py
        "workflow/sweeps/task_process.py",  # test_alone.py
        # test_tasks.py and test_sweep.py start clusters
        "workflow/sweeps/calls.py",
        "workflow/sweeps/planned.py", "workflow/sweeps/targets.py",
    }  # fmt: skip
    assert missing <= covered_elsewhere, f"no test file for {sorted(missing - covered_elsewhere)}"

"""What a stub lists is there, documented, and loaded when it is asked for."""

import importlib
import json
import re
import subprocess
import sys

import pytest

from tests.public_names import MODULES, NAMES, PACKAGES, PUBLIC, imported
from tests.sources import FILES, PACKAGE, ROOT, parsed

HEAVY = {"numpy", "scipy", "torch", "cvxpy", "sympy", "pandas", "matplotlib", "seaborn"}


def loaded_by(code):
    """Which modules a fresh process has loaded after `code`."""
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_a_package_lists_few_names_all_of_which_are_there():
    for package in PACKAGES:
        names = imported(package).__all__
        assert sorted(names) == sorted(PUBLIC[package]), package
        met = [name for name in names if (package, name) not in MODULES]  # each experiment is one
        assert len(met) <= (48 if package == "plots" else 25), package


def test_a_name_is_that_of_the_module_that_defines_it():
    """And no re-export."""
    elsewhere = []
    for package, name in NAMES:
        if (package, name) not in MODULES:
            defined = f"ntpcompanion.{package}.{PUBLIC[package][name].rpartition('.')[0]}"
            found = getattr(imported(package), name)
            same = found is getattr(importlib.import_module(defined), name)
            if not same or getattr(found, "__module__", defined) != defined:
                elsewhere.append(f"{package}.{name}")
    assert elsewhere == []


def test_every_experiment_that_a_record_can_name_is_a_name_of_its_room():
    experiments = {
        path.stem
        for path in FILES
        if path.is_relative_to(PACKAGE / "experiments")
        and {"Plan", "Result", "run"} <= {getattr(node, "name", "") for node in parsed(path).body}
    }
    shown = {name for package, name in MODULES if package == "experiments"}
    assert experiments <= shown
    for name in shown:
        module = importlib.import_module(f"ntpcompanion.experiments.{PUBLIC['experiments'][name]}")
        assert getattr(imported("experiments"), name) is module


def test_importing_a_room_loads_none_of_its_modules_and_nothing_heavy():
    """One process for all packages: what is loaded after each."""
    script = f"""
import importlib, json, sys
loaded = {{}}
for package in {PACKAGES}:
    importlib.import_module("ntpcompanion." + package)
    own = [name for name in sys.modules if name.startswith(f"ntpcompanion.{{package}}.")]
    loaded[package] = own + sorted({HEAVY} & set(sys.modules))
print(json.dumps(loaded))
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == {package: [] for package in PACKAGES}


def test_a_function_keeps_its_name_where_its_module_is_loaded_first():
    """Each in a process that has loaded nothing of ours yet; libraries are loaded once for all."""
    same = [(package, name) for package, name in NAMES if PUBLIC[package][name] == f"{name}.{name}"]
    assert same
    loaded_by(
        f"""
for package, name in {same}:
    for module in [module for module in sys.modules if module.startswith("ntpcompanion")]:
        del sys.modules[module]
    exec(f"import ntpcompanion.{{package}}.{{name}}, ntpcompanion.{{package}} as package_itself")
    assert callable(getattr(package_itself, name)), (package, name)
"""
    )


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("from ntpcompanion.linear import ContextTable", "numpy"),
        ("from ntpcompanion import languages; languages.HMM", "torch"),
    ],
)
def test_without_its_packages_a_name_says_which_extra_to_install(code, missing):
    hide = f"import sys\nsys.modules[{missing!r}] = None\n"
    done = subprocess.run([sys.executable, "-c", hide + code], capture_output=True, text=True)
    said = done.stderr.strip().splitlines()[-1]
    assert re.fullmatch(
        rf"ImportError: ntpcompanion\.\w+\.\w+ needs the package '{missing}', which is not "
        rf"installed: pip install 'ntpcompanion\[science\]'\.",
        said,
    )


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="solve_svm"):
        _ = imported("linear").solve_svm


def test_every_name_of_a_face_stands_on_the_page_of_its_room():
    pages = {package: (ROOT / "book" / "api" / f"{package}.md").read_text() for package in PACKAGES}
    assert [
        f"{package}.{name}"
        for package, name in NAMES
        if not re.search(
            rf"ntpcompanion\.{package}\.(\w+\.)?{name}$|^\|.*`{name}`", pages[package], re.M
        )
    ] == []

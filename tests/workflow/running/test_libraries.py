"""Which modules a notebook is going to import: beside Python's own parser, for every file here."""

import ast
import sys
from pathlib import Path

import pytest

import ntpcompanion
from ntpcompanion.workflow.running.libraries import library_modules

FILES = sorted(Path(ntpcompanion.__file__).parent.rglob("*.py"))
LIBRARIES = ("numpy", "scipy", "torch", "pandas", "pydantic", "sympy", "matplotlib")


def parsed(path):
    """The modules that the top of a file imports from a library."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module)
    return {name for name in found if name.partition(".")[0] in LIBRARIES}


def is_module(name):
    __import__(name.rpartition(".")[0] or name)
    return name in sys.modules


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_import_at_the_top_of_a_file_is_found(path):
    names = set(library_modules("", [path], LIBRARIES))
    assert parsed(path) <= names
    above = {name.rpartition(".")[0] for name in names}
    assert {name for name in names if name not in above and is_module(name)} <= parsed(path) | names


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import numpy as np", ["numpy"]),
        ("import scipy.stats", ["scipy.stats"]),
        ("from scipy import stats, optimize as o", ["scipy", "scipy.optimize", "scipy.stats"]),
        ("from scipy.stats import (\n    norm,\n)", ["scipy.stats"]),
        ("def f():\n    import torch", []),
        ("import numpydoc, torchvision\nfrom . import numpy\nfrom .torch import x", []),
        ("important = 1\nfrom_numpy = 2\n# import numpy", []),
    ],
)
def test_names_are_those_of_the_libraries_outside_of_functions(code, names):
    assert library_modules(code, [], LIBRARIES) == names

"""Which modules a notebook is going to import: beside Python's own parser, for every file here."""

import ast
from pathlib import Path

import pytest

import ntpcompanion
from ntpcompanion.workflow.running.libraries import LATE, library_modules

FILES = sorted(Path(ntpcompanion.__file__).parent.rglob("*.py"))
LIBRARIES = ("numpy", "scipy", "torch", "pandas", "pydantic", "sympy", "matplotlib")


def parsed(path):
    """The modules that the top of a file imports, and these with all names that it takes of them,
    which can be modules.
    """
    modules, names = set(), set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return modules, modules | names | set(LATE.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_imports_are_those_at_the_top_of_a_file(path):
    least, most = (
        {name for name in names if name.partition(".")[0] in LIBRARIES} for names in parsed(path)
    )
    assert least <= set(library_modules("", [path], LIBRARIES)) <= most


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import numpy as np", ["numpy"]),
        ("import scipy.stats", ["scipy.stats"]),
        ("from scipy import stats, optimize as o", ["scipy", "scipy.optimize", "scipy.stats"]),
        ("from scipy.stats import (\n    norm,\n)", ["scipy.stats"]),
        ("def f():\n    import torch", []),
        ("import numpydoc, torchvision\nfrom . import numpy\nfrom .torch import x", []),
        ("import torch\ntorch.optim.SGD", ["torch", "torch._dynamo"]),
        ("important = 1\nfrom_numpy = 2\n# import numpy", []),
    ],
)
def test_names_are_those_of_the_libraries_outside_of_functions(code, names):
    assert library_modules(code, [], LIBRARIES) == names

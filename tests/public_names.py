"""The public names of the packages, by their stubs, and what stands behind each."""

import ast
import importlib
import operator

from ntpcompanion.workflow.hashing.imported_files import read_stub
from tests.sources import PACKAGE, parsed

PACKAGES = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.pyi"))
PUBLIC = {package: read_stub(PACKAGE / package) for package in PACKAGES}
NAMES = [(package, name) for package in PACKAGES for name in PUBLIC[package]]


def place(package, name):
    """Where a public name is defined, relative to its package: a module, or something in one."""
    return PACKAGE / package / PUBLIC[package][name].replace(".", "/")


MODULES = [
    (package, name) for package, name in NAMES if place(package, name).with_suffix(".py").is_file()
]


def imported(package):
    return importlib.import_module(f"ntpcompanion.{package}")


def functions_behind(package, name):
    """What is called under a public name: nothing of a constant, of an experiment its `run`, of
    another module the function of its name.
    """
    if (package, name) not in MODULES:
        return [] if name.isupper() else [name]
    tree = parsed(place(package, name).with_suffix(".py"))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return [f"{name}.run" if "run" in defined else f"{name}.{name}"]


SCIENCE = [
    (package, function)
    for package, name in NAMES
    if package not in ("workflow", "plots")
    for function in functions_behind(package, name)
]


def found_at(package, dotted):
    return operator.attrgetter(dotted)(imported(package))

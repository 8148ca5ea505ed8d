"""The public names of the packages, by their stubs, and what stands behind each."""

import ast
import importlib
import operator

from ntpcompanion.workflow.hashing.stub_names import read_stub
from tests.sources import PACKAGE, parsed

ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.pyi"))
PUBLIC = {room: read_stub(PACKAGE / room) for room in ROOMS}
NAMES = [(room, name) for room in ROOMS for name in PUBLIC[room]]


def place(room, name):
    """Where a public name is defined, relative to its package: a module, or something in one."""
    return PACKAGE / room / PUBLIC[room][name].replace(".", "/")


MODULES = [(room, name) for room, name in NAMES if place(room, name).with_suffix(".py").is_file()]


def face(room):
    return importlib.import_module(f"ntpcompanion.{room}")


def functions_behind(room, name):
    """What is called under a name of a face: nothing of a constant, of an experiment its `run`, of
    another module the function of its name.
    """
    if (room, name) not in MODULES:
        return [] if name.isupper() else [name]
    tree = parsed(place(room, name).with_suffix(".py"))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return [f"{name}.run" if "run" in defined else f"{name}.{name}"]


SCIENCE = [
    (room, function)
    for room, name in NAMES
    if room not in ("workflow", "plots")
    for function in functions_behind(room, name)
]


def found_at(room, dotted):
    return operator.attrgetter(dotted)(face(room))

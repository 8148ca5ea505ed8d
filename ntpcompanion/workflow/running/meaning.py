"""What a source file means: its syntax tree without what cannot move a number."""

import ast
import functools
import json
from collections.abc import Mapping
from pathlib import Path

from ntpcompanion.workflow.base.files import sha256
from ntpcompanion.workflow.running.computing import computing
from ntpcompanion.workflow.running.sources import source_hashes
from ntpcompanion.workflow.running.uses import ONE_PARSES

# the `__init__.py` of a room without a face, and of one with a face
ROOMS = (
    b"",
    b"from ntpcompanion.faces import attach_face\n"
    b"__getattr__, __dir__, __all__ = attach_face(__name__, __file__, extra='science')\n",
)
OWN, LOADS_FACES = __name__.partition(".")[0], "faces.py"  # the module behind `attach_face`


def source_meanings(code: str, *packages: Path) -> dict[str, str]:
    """What `source_hashes` finds, with the hash of the meaning of every file instead of that of its
    bytes, and without the files that are imported for their checks or annotations alone. Raises
    WorkflowError for a file that is not Python.
    """
    return source_hashes(code, *packages, parse=computing, digest=meaning)


def computing_parts(meanings: Mapping[str, str], package: str) -> dict[str, str]:
    """The entries of `source_meanings` for a `package` that can move a number, without those that
    only pass names on: a room that is given a face does not change what its modules compute.

    Left out are an `__init__.py` that is empty or attaches a face, the module that loads faces, and
    a name of a face that stands for a module or for what is defined in the module of that name. A
    name of a face that leads to another module counts, as does any other line in an `__init__.py`.
    """
    passing = {meaning(source) for source in ROOMS}
    return {
        entry: found
        for entry, found in meanings.items()
        if not (entry.endswith("__init__.py") and found in passing)
        and (package, entry) != (OWN, LOADS_FACES)
        and not _leads_home(entry, found)
    }


def _leads_home(entry: str, found: str) -> bool:
    """Whether an entry of a face, such as `"room/__init__.pyi: train"`, leads to the module of its
    own name.
    """
    _, separator, name = entry.partition(": ")
    return bool(separator) and found in (name, f"{name}.{name}")


@functools.cache
def meaning(source: bytes) -> str:
    """SHA-256 of the syntax tree of a module.

    Docstrings, comments, line breaks, quotation marks and the splitting of long texts do not
    count, nor do annotations and checks, as `computing` takes them out: none of them can move a
    number, unless a program reads its own source. Every other name and number counts. Equal for all
    versions of Python that have the same syntax.

    Raises
    ------
    SyntaxError, ValueError
        the bytes are no Python.
    """
    with ONE_PARSES:
        tree = computing(source)
    return sha256(json.dumps(_plain(tree)))


def _plain(node: object) -> object:
    """A tree as lists and texts. Empty fields are left out: later versions of Python add some."""
    if isinstance(node, ast.Constant):
        return ["Constant", ascii(node.value)]
    if isinstance(node, list):
        return [_plain(each) for each in node]
    if not isinstance(node, ast.AST):
        return ascii(node)
    kept = {name: _plain(value) for name, value in ast.iter_fields(node) if value not in (None, [])}
    return [type(node).__name__, kept]

"""What code does beyond what it names: it runs at import, or looks where nothing can be seen."""

import ast
import functools
import json
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from ntpcompanion.workflow.base.files import files_below, sha256
from ntpcompanion.workflow.hashing.bindings import bound_by, last_name
from ntpcompanion.workflow.hashing.modules import Statement, is_lazy
from ntpcompanion.workflow.hashing.statements import CHECKS, PLAIN_DECORATORS, Reading
from ntpcompanion.workflow.hashing.used_names import ONE_PARSES

# who uses these may depend on any file of the package: on its docstrings, annotations and lines,
LOOKS_ANYWHERE = frozenset(
    "__doc__ __annotations__ inspect get_type_hints get_annotations getdoc singledispatch "
    "singledispatchmethod validate_call validate_arguments beartype typechecked jaxtyped pydoc "
    "doctest help model_json_schema create_model use_attribute_docstrings beartype_this_package "
    "install_import_hook "
    "getsource getsourcelines getsourcefile getfile getmodule getmembers findsource getcomments "
    "linecache currentframe _getframe extract_stack __code__ __globals__ f_globals "
    # on classes that nobody names, and modules that stand in a folder
    "__init_subclass__ metaclass __set_name__ __subclasses__ "
    "__file__ __path__ __spec__ __loader__ listdir scandir iterdir glob rglob iglob walk_packages "
    "iter_modules pkgutil entry_points spec_from_file_location runpy run_path run_module "
    "SourceFileLoader meta_path path_hooks reload load_module __module__".split()
)
# a notebook reads files before the eyes of its runner, but a list of modules is not a file
FINDS_MODULES = frozenset(
    "pkgutil iter_modules walk_packages entry_points __subclasses__ spec_from_file_location "
    "runpy run_path run_module SourceFileLoader meta_path path_hooks".split()
)
LISTS = frozenset("listdir scandir iterdir glob rglob iglob walk".split())
BLIND_BUILTINS = frozenset({"exec", "eval", "compile", "globals"})
IMPORTERS = frozenset({"import_module", "__import__"})
OF_THE_MODULE = frozenset({"__name__", "__package__"})
# a file without any of them is not parsed
LOOKS = re.compile("|".join({*FINDS_MODULES, *LISTS, *BLIND_BUILTINS, *IMPORTERS, "__getattr__"}))
OTHER_FILES = re.compile(r"""\bglob\((["'])[^"']*\.(?!py)\w+\1\)""")
# calls at the top of a module that change nothing
MAKES = PLAIN_DECORATORS | frozenset(
    "TypeVar ParamSpec NewType namedtuple compile frozenset set tuple dict list range len min max "
    "sum float int str bool abs sorted zip enumerate Path array asarray zeros ones eye arange "
    "linspace geomspace logspace sqrt log exp pi getLogger MappingProxyType partial Fraction "
    "Decimal finfo iinfo dtype device split join format cast dedent items keys values "
    "attrgetter itemgetter field Field ConfigDict".split()
)


def acts(statement: Statement, reading: Reading) -> bool:
    """Whether a statement that runs at import may change anything but its own names."""
    match statement.node:
        case ast.Import() | ast.ImportFrom() | ast.Pass():
            return False
        case ast.If(test=test) if ast.unparse(test) == "__name__ == '__main__'":
            return False
        case ast.Expr(value=value):
            return not isinstance(value, ast.Constant)
        case ast.Assign(targets=targets):
            parts = [each for target in targets for each in ast.walk(target)]
        case ast.AnnAssign(target=target):
            parts = [*ast.walk(target)]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            parts = []
        case _:
            return True
    return any(isinstance(each, ast.Attribute | ast.Subscript) for each in parts) or any(
        name not in MAKES or any(bound.module for bound in bounds)
        for name, bounds in reading.called
        if not bounds or not all(bound.is_from(CHECKS) for bound in bounds)
    )


def looks_anywhere(statement: Statement, reading: Reading) -> bool:
    """Whether a statement may depend on any file of its package."""
    words, outside = reading.words | reading.outside, reading.outside
    return bool(
        (words | {*reading.texts}) & LOOKS_ANYWHERE
        or reading.builtins & BLIND_BUILTINS
        or "__getattr__" in statement.names
        # `tokenize` as a method of something else is that of a tokenizer
        or outside & {"walk", "tokenize"}
        or {"sys", "modules"} <= words
    )


def folder_hash(folder: Path) -> str:
    """Of the names and contents of all files below a folder, but those that Python makes itself."""
    return sha256(json.dumps(file_hashes(folder)))


def file_hashes(folder: Path) -> dict[str, str]:
    """The hash of every file below a folder, but of those that Python makes itself."""
    files = [path for path in files_below(folder) if "__pycache__" not in path.parts]
    named = {path.relative_to(folder).as_posix(): path for path in files}
    # a checkout with the line ends of Windows is the same code
    return {
        name: sha256(path.read_bytes().replace(b"\r\n", b"\n"))
        for name, path in sorted(named.items())
    }


def may_look_for_modules(source: bytes | str, packages: Iterable[str]) -> bool:
    """Whether a file may load, list or read modules of the packages that it does not name: a coarse
    sign for the sources of a notebook.
    """
    text = source if isinstance(source, str) else source.decode(errors="replace")
    text = unicodedata.normalize("NFKC", text)  # Python reads names in this form
    return bool(LOOKS.search(text)) and _may_look(
        OTHER_FILES.sub("files()", text), frozenset(packages)
    )


@functools.cache
def _may_look(source: str, packages: frozenset[str]) -> bool:
    with ONE_PARSES:
        body = ast.parse(source).body
    nodes = [node for each in body if not is_lazy(each) for node in ast.walk(each)]
    names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    dotted = {f"{getattr(node, 'module', '')}.{one.name}" for node in imports for one in node.names}
    words = {last_name(node) for node in nodes} | {
        part for one in dotted for part in one.split(".")
    }
    defined = {name for node in body for name in bound_by([node])[0] if not is_lazy(node)}
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and id(node) not in docstrings
    ]
    place = re.compile(rf"\b({'|'.join(map(re.escape, packages))})([./]|$)")
    locates_itself = (
        names & OF_THE_MODULE
        or words & {"__file__", "__path__", "__package__", "__spec__"}
        or any(isinstance(each, str) and place.search(each) for each in texts)
    )
    return bool(
        "__getattr__" in defined
        or names & BLIND_BUILTINS
        or words & FINDS_MODULES
        or (locates_itself and words & (IMPORTERS | LISTS))
    )

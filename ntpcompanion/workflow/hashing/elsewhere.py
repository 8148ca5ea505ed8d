"""What a statement does beyond what it names: it runs at import, or looks where nothing is seen."""

import ast
import functools
import json
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from ntpcompanion.workflow.base.files import files_below, sha256
from ntpcompanion.workflow.hashing.bindings import last_name
from ntpcompanion.workflow.hashing.modules import Module, Packages, is_lazy, statements_of
from ntpcompanion.workflow.hashing.purity import DECORATOR, is_from
from ntpcompanion.workflow.hashing.statements import PLAIN_DECORATORS, Statement

# who uses these reads docstrings or annotations of anything
INTROSPECTS = frozenset(
    "__doc__ __annotations__ inspect get_type_hints get_annotations getdoc singledispatch "
    "singledispatchmethod validate_call validate_arguments beartype typechecked jaxtyped pydoc "
    "doctest help model_json_schema create_model use_attribute_docstrings beartype_this_package "
    "install_import_hook".split()
)
# who uses these may depend on any file of the package
LOOKS_ANYWHERE = frozenset(
    "getsource getsourcelines getsourcefile getfile getmodule getmembers findsource getcomments "
    "linecache currentframe _getframe extract_stack __code__ __globals__ f_globals "
    "__file__ __path__ __spec__ __loader__ listdir scandir iterdir rglob iglob walk_packages "
    "iter_modules pkgutil entry_points spec_from_file_location runpy run_path run_module "
    "SourceFileLoader meta_path path_hooks reload load_module __subclasses__ __module__".split()
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
REGISTERS = frozenset({"__init_subclass__", "metaclass", "__set_name__"})
# a file without any of them is not parsed
LOOKS = re.compile("|".join({*FINDS_MODULES, *LISTS, *BLIND_BUILTINS, *IMPORTERS, "__getattr__"}))
# calls at the top of a module that change nothing
MAKES = frozenset(
    "TypeVar ParamSpec NewType namedtuple compile frozenset set tuple dict list range len min max "
    "sum float int str bool abs sorted zip enumerate Path array asarray zeros ones eye arange "
    "linspace geomspace logspace sqrt log exp pi getLogger MappingProxyType partial Fraction "
    "Decimal finfo iinfo dtype device split join format cast dedent items keys values "
    "attrgetter itemgetter field Field ConfigDict".split()
)


def acts(packages: Packages, module: Module, node: ast.stmt, statement: Statement) -> bool:
    """Whether a `statement` that runs at import may change anything but its own names; of its parts
    that is asked for a `node`.
    """
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return not {last_name(each) for each in node.decorator_list} <= PLAIN_DECORATORS
        case ast.Import() | ast.ImportFrom() | ast.Pass():
            return False
        case ast.Expr():
            return not isinstance(node.value, ast.Constant)
        case ast.Assign() | ast.AnnAssign():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = [each for target in targets for each in ast.walk(target)]
            if any(isinstance(each, ast.Attribute | ast.Subscript) for each in parts):
                return True
            return node.value is not None and _calls(packages, module, statement, node.value)
        case ast.If() if last_name(node.test) == "TYPE_CHECKING":
            return any(acts(packages, module, each, statement) for each in node.orelse)
        case ast.If() if ast.unparse(node.test) == "__name__ == '__main__'":
            return False
        case ast.If() | ast.Try():
            if isinstance(node, ast.If) and _calls(packages, module, statement, node.test):
                return True
            return any(acts(packages, module, each, statement) for each in _inside(node))
    return True


def _inside(node: ast.If | ast.Try) -> Iterable[ast.stmt]:
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.stmt):
            yield each
        elif isinstance(each, ast.ExceptHandler):
            yield from each.body


def _calls(packages: Packages, module: Module, statement: Statement, node: ast.expr) -> bool:
    """Whether an expression calls what may change something."""
    by_node = {id(each.nodes[-1]): each for each in statement.references}
    for call in (each for each in _now(node) if isinstance(each, ast.Call)):
        reference = by_node.get(id(call.func))
        bound = packages.resolve(module, reference) if reference else []
        if bound and all(is_from(DECORATOR, each) for each in bound):
            continue
        if last_name(call) not in MAKES or any(each.module is not None for each in bound):
            return True
    return False


def _now(node: ast.AST) -> Iterable[ast.AST]:
    """A node and those below that run with it: not the body of a lambda."""
    yield node
    if not isinstance(node, ast.Lambda):
        for each in ast.iter_child_nodes(node):
            yield from _now(each)


def looks_anywhere(statement: Statement, outside: Iterable[str], packages: Iterable[str]) -> bool:
    """Whether a statement may depend on any file of its package; `outside` are the names of
    libraries in it.
    """
    parts = {part for name in outside for part in name.split(".")}
    words = statement.words | parts | {*statement.texts}
    if words & LOOKS_ANYWHERE or "__getattr__" in statement.names:
        return True
    # `tokenize` as a method of something else is that of a tokenizer
    if parts & {"glob", "walk", "tokenize"} or "glob" in statement.words:
        return True
    asks = "modules" in words and "sys" in words
    return asks and not _literal_modules(statement, {*packages})


def imported_by_name(statement: Statement) -> tuple[list[str], bool, bool]:
    """The modules that a statement imports by a literal name; whether it computes others, and
    whether relative ones.
    """
    calls = [each for each in ast.walk(statement.node) if isinstance(each, ast.Call)]
    calls = [call for call in calls if last_name(call) in IMPORTERS]
    named = [call.args[0] for call in calls if len(call.args) == 1 and not call.keywords]
    texts = [each.value for each in named if isinstance(each, ast.Constant)]
    known = [text for text in texts if isinstance(text, str) and text[:1] != "."]
    computed = not calls or len(known) < len(calls)
    return known, computed, any(len(call.args) + len(call.keywords) > 1 for call in calls)


def _literal_modules(statement: Statement, packages: set[str]) -> bool:
    """Whether `sys.modules` is asked for libraries by their names only."""
    keys: list[ast.expr] = []
    uses = 0
    for node in ast.walk(statement.node):
        uses += isinstance(node, ast.Attribute) and node.attr == "modules"
        if isinstance(node, ast.Subscript) and last_name(node.value) == "modules":
            keys.append(node.slice)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "get" and last_name(node.func.value) == "modules":
                keys.append(node.args[0])
        if isinstance(node, ast.Compare) and last_name(node.comparators[0]) == "modules":
            keys.append(node.left)
    names = [each.value for each in keys if isinstance(each, ast.Constant)]
    tops = {str(name).partition(".")[0] for name in names}
    return len(names) == uses and not tops & packages


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


def _lists(statement: Statement) -> bool:
    """Whether a statement lists a folder, and not only files of another kind than modules."""
    calls = [each for each in ast.walk(statement.node) if isinstance(each, ast.Call)]
    patterns = [call.args[:1] for call in calls if last_name(call) in LISTS]
    texts = [str(getattr(each, "value", "")) for pattern in patterns for each in pattern]
    others = [re.search(r"\.\w+$", text) and not re.search(r"\.py\w?$", text) for text in texts]
    imports = {part for one in statement.imports for part in one.target.split(".")}
    return bool(imports & LISTS) or len(list(filter(None, others))) < len(patterns)


@functools.cache
def _may_look(source: bytes | str, packages: frozenset[str]) -> bool:
    text = source if isinstance(source, str) else source.decode(errors="replace")
    if not LOOKS.search(unicodedata.normalize("NFKC", text)):  # Python reads names in this form
        return False
    statements = [each for each in statements_of(source) if not is_lazy(each)]
    words = {word for each in statements for word in each.words}
    imports = [one for each in statements for one in (*each.imports, *each.deferred)]
    words |= {part for one in imports for part in one.target.split(".")}
    names = {each.parts[0] for one in statements for each in one.references}
    if any("__getattr__" in each.names for each in statements) or names & BLIND_BUILTINS:
        return True
    place = rf"\b({'|'.join(map(re.escape, packages))})([./]|$)"
    names_packages = any(re.search(place, text) for each in statements for text in each.texts)
    locates_itself = (
        names_packages
        or "__name__" in names
        or words & {"__file__", "__path__", "__package__", "__spec__"}
    )
    by_name = [imported_by_name(each) for each in statements if each.words & IMPORTERS]
    looks = any(computed or known for known, computed, _ in by_name) or any(map(_lists, statements))
    return bool(words & FINDS_MODULES or (locates_itself and looks))


def may_look_for_modules(source: bytes | str, packages: Iterable[str]) -> bool:
    """Whether a file may load, list or read modules of the packages that it does not name: a coarse
    sign for the sources of a notebook.
    """
    return _may_look(source, frozenset(packages))

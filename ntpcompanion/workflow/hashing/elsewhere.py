"""What code does beyond what it names: it runs at import, or looks where nothing can be seen."""

import ast
import json
from pathlib import Path

from ntpcompanion.workflow.base.files import files_below, sha256
from ntpcompanion.workflow.hashing.modules import Statement
from ntpcompanion.workflow.hashing.statements import CHECKS, PLAIN_DECORATORS, Reading

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
BLIND_BUILTINS = frozenset({"exec", "eval", "compile", "globals"})
IMPORTERS = frozenset({"import_module", "__import__"})
OF_THE_MODULE = frozenset({"__name__", "__package__"})
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
    files = [path for path in files_below(folder) if "__pycache__" not in path.parts]
    named = {path.relative_to(folder).as_posix(): path for path in files}
    # a checkout with the line ends of Windows is the same code
    hashes = {
        name: sha256(path.read_bytes().replace(b"\r\n", b"\n"))
        for name, path in sorted(named.items())
    }
    return sha256(json.dumps(hashes))

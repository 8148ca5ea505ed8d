"""What a statement of a module says, with what its names are bound to in their place.

It is read by the scopes of Python, and never run.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from ntpcompanion.workflow.base.files import files_below, sha256
from ntpcompanion.workflow.hashing.bindings import (
    Bound,
    Comprehension,
    Import,
    Module,
    Packages,
    Statement,
    arguments_of,
    bound_by,
    is_documented,
    last_name,
    parts_of,
)

MARK = "ntpcompanion.validation.argument_check"  # marks functions that only look at arguments
CHECKS = "ntpcompanion.checks"  # the decorator that does, and what stands beside annotations
# decorators that neither read what they decorate nor remember it elsewhere
PLAIN_DECORATORS = frozenset(
    "staticmethod classmethod property setter cache lru_cache cached_property contextmanager "
    "abstractmethod override final dataclass total_ordering no_grad enable_grad "
    "inference_mode".split()
)
Scope = Mapping[str, tuple[Import, ...]]  # what is bound within a function, and by which imports
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False)
class Reading:
    """What a statement says."""

    # as lists and texts, with the numbers of `references` where names are bound in modules
    tree: object = None
    references: list[list[Bound]] = field(default_factory=list)  # what each of these is bound to
    # of calls and decorators that run with the statement, the last part of the name, and the same
    called: list[tuple[str, list[Bound]]] = field(default_factory=list)
    # what is handed on, not called: a function of such a name may be introspected
    handed: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)  # every name and attribute
    texts: list[str] = field(default_factory=list)  # that are not docstrings
    outside: set[str] = field(default_factory=set)  # the parts of names of libraries
    builtins: set[str] = field(default_factory=set)  # names that nothing seen here binds

    def hash(self, labels: Sequence[str]) -> str:
        """SHA-256 of the tree and what stands for its references, equal for all versions of Python
        that have the same syntax. Comments, line breaks, quotation marks and the splitting of long
        texts do not count.
        """
        return sha256(json.dumps([self.tree, list(labels)]))


def read_statement(
    packages: Packages, module: Module, statement: Statement, annotated: Set[str]
) -> Reading:
    """What a statement of a module says. Left out are docstrings, and annotations of functions that
    are not among the `annotated`, but not where an unknown decorator may read them; annotations of
    variables; checks of arguments.
    """
    reader = _Reader(packages, module, annotated)
    reader.called_only = {id(each) for each in _called_only(statement.node)}
    reader.into.tree = reader.read(statement.node, {})
    return reader.into


def _called_only(statement: ast.AST) -> Iterator[ast.AST]:
    """What is called or compared with, not handed on."""
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=function):
                yield function
                if last_name(function) in ("isinstance", "issubclass"):
                    yield from (each for part in node.args for each in ast.walk(part))
            case ast.ClassDef(bases=bases):
                yield from bases
            case ast.ExceptHandler(type=ast.expr() as kind):
                yield from ast.walk(kind)
            case ast.Subscript(value=value):
                yield value


class _Reader:
    def __init__(self, packages: Packages, module: Module, annotated: Set[str]) -> None:
        self.packages, self.module, self.annotated = packages, module, annotated
        self.into = Reading()
        self.called_only: set[int] = set()
        self.is_annotated = False  # within a function whose annotations count
        self.opaque = False  # within what an unknown decorator or metaclass may read
        self.within = ""  # the kind of the innermost scope: "", class or function

    def read(self, node: object, local: Scope) -> object:
        """A tree as lists and texts, without empty fields: later versions of Python add some."""
        if isinstance(node, list):
            return [self.read(each, local) for each in node if not self._checks(each, local)]
        if not isinstance(node, ast.AST):
            return ascii(node)
        return getattr(self, f"_{type(node).__name__}", self._tree)(node, local)

    def _Constant(self, node: ast.Constant, local: Scope) -> object:
        if isinstance(node.value, str):
            self.into.texts.append(node.value)
        return ["Constant", ascii(node.value)]

    def _Lambda(self, node: ast.Lambda, local: Scope) -> object:
        inner = {**local, **dict.fromkeys(arguments_of(node.args), ())}
        return [self.read(node.args, local), self._within("function", node.body, inner)]

    def _AnnAssign(self, node: ast.AnnAssign, local: Scope) -> object:
        is_field = self.within == "class"  # annotations of others make no difference
        return self._tree(node, local, *([] if is_field else ["annotation"]))

    def _arg(self, node: ast.arg, local: Scope) -> object:
        return self._tree(node, local, *([] if self.is_annotated else ["annotation"]))

    def _Call(self, node: ast.Call, local: Scope) -> object:
        if self.within != "function":
            self.into.called.append((last_name(node), self._bounds(node, local)))
        return self._harmless(node, local) or self._tree(node, local)

    def _Subscript(self, node: ast.Subscript, local: Scope) -> object:
        if last_name(node.value) == "Annotated" and isinstance(node.slice, ast.Tuple):
            kind, *marks = node.slice.elts
            if all(_lead_to(CHECKS, self._bounds(each, local)) for each in marks):
                return self.read(kind, local)
        return self._harmless(node, local) or self._tree(node, local)

    def _tree(self, node: ast.AST, local: Scope, *left_out: str) -> object:
        fields = {
            name: value
            for name, each in ast.iter_fields(node)
            if each not in (None, []) and name not in ("ctx", "simple", *left_out)
            if (value := self.read(each, local)) != []
        }
        return [type(node).__name__, fields]

    def _within(self, kind: str, node: object, local: Scope) -> object:
        before, self.within = self.within, kind
        tree = self.read(node, local)
        self.within = before
        return tree

    def _ClassDef(self, node: Function | ast.ClassDef, local: Scope) -> object:
        self.into.words.add(node.name)
        bounds = [(each, self._bounds(each, local)) for each in node.decorator_list]
        bounds = [(e, to) for e, to in bounds if not _lead_to(CHECKS, to) | _lead_to(MARK, to)]
        called = [(last_name(each), to) for each, to in bounds]
        self.into.called += called if self.within != "function" else []
        before = self.opaque, self.is_annotated
        self.opaque |= not {name for name, _ in called} <= PLAIN_DECORATORS
        self.opaque |= bool(getattr(node, "keywords", []))
        self.is_annotated |= self.opaque or node.name in self.annotated
        names, imports = bound_by(node.body)
        bound = {name: tuple(each for each in imports if each.local == name) for name in names}
        if isinstance(node, ast.ClassDef):
            head = [self.read(node.bases, local), self.read(node.keywords, local)]
            # a class hides nothing from its methods, and what it binds may be of the module before
            inner = {**local, **{name: by for name, by in bound.items() if by}}
        else:
            returns = node.returns if self.is_annotated else None
            head = [self.read(node.args, local), self.read(returns, local)]
            inner = {**local, **dict.fromkeys(arguments_of(node.args), ()), **bound}
        body = node.body[not self.opaque and is_documented(node.body) :]
        kind = "class" if isinstance(node, ast.ClassDef) else "function"
        decorators = self.read([each for each, _ in bounds], local)
        tree = [type(node).__name__, node.name, decorators, *head, self._within(kind, body, inner)]
        self.opaque, self.is_annotated = before
        return tree

    _FunctionDef = _AsyncFunctionDef = _ClassDef

    def _ListComp(self, node: Comprehension, local: Scope) -> object:
        names, _ = bound_by([each.target for each in node.generators])
        first = self.read(node.generators[0].iter, local)  # evaluated outside
        return [first, self._tree(node, {**local, **dict.fromkeys(names, ())})]

    _SetComp = _DictComp = _GeneratorExp = _ListComp

    def _Name(self, node: ast.Name | ast.Attribute, local: Scope) -> object:
        is_stored = not isinstance(node.ctx, ast.Load)
        if not is_stored and id(node) not in self.called_only:
            self.into.handed.add(last_name(node))
        self.into.words.add(last_name(node))
        parts = parts_of(node)
        if not parts:
            return self._tree(node, local)
        self.into.words |= {*parts}
        bounds = self._bounds(node, local)
        if not bounds or (self.within == "class" and is_stored and len(parts) == 1):
            if parts[0] not in local and not is_stored:
                self.into.builtins.add(parts[0])
            return ["Name", ".".join(parts)]
        if _lead_to(CHECKS, bounds):
            return ["Name", _type_of(bounds[0]) or parts[-1]]
        for bound in (each for each in bounds if each.outside):
            self.into.outside |= {*bound.outside.split("."), *parts[bound.parts :]}
        self.into.references.append(bounds)
        done = max(min(bound.parts for bound in bounds), 1)
        return ["Name", len(self.into.references) - 1, *parts[done:]]

    _Attribute = _Name

    def _bounds(self, node: ast.AST, local: Scope) -> list[Bound]:
        """What a name, or what a call names, is bound to in modules; nothing for others."""
        parts = parts_of(node.func if isinstance(node, ast.Call) else node)
        if not parts or local.get(parts[0]) == ():
            return []
        bounds: list[Bound] = self.packages.resolve(self.module, parts, local.get(parts[0], ()))
        return bounds

    def _checks(self, node: object, local: Scope) -> bool:
        """Whether a statement only calls a function that is marked to look at arguments, with what
        calls nothing itself.
        """
        if not isinstance(node, ast.Expr) or not isinstance(call := node.value, ast.Call):
            return False
        parts = [each for part in (*call.args, *call.keywords) for each in ast.walk(part)]
        calls = [each for each in parts if isinstance(each, ast.Call | ast.NamedExpr)]
        bounds = self._bounds(call, local)
        is_plain = {*map(last_name, calls)} <= {"len"}
        return is_plain and bool(bounds) and all(map(self._is_marked, bounds))

    def _is_marked(self, bound: Bound) -> bool:
        node = getattr(bound.statement, "node", None)
        decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
        if bound.module is None or len(decorators) != 1:
            return False
        return _lead_to(MARK, self.packages.resolve(bound.module, parts_of(decorators[0])))

    def _harmless(self, node: ast.Call | ast.Subscript, local: Scope) -> list[str]:
        """A node as text if it asks `sys.modules` for a library by its name, or for the package of
        a local variable, which no move changes.
        """
        match node:
            case ast.Call(
                func=ast.Attribute(table, "get"), args=[ast.Constant(str(name))]
            ) | ast.Subscript(table, ast.Constant(str(name))) if {
                bound.outside for bound in self._bounds(table, local)
            } == {"sys"}:
                is_library = name.partition(".")[0] not in self.packages.folders
                return [ast.unparse(node)] if is_library and last_name(table) == "modules" else []
            case ast.Subscript(ast.Call()):
                asks = re.fullmatch(r"(\w+)\.__module__\.split\('\.'\)\[0\]", ast.unparse(node))
                return [asks[0]] if asks and local.get(asks[1]) == () else []
        return []


def _lead_to(place: str, bounds: Sequence[Bound]) -> bool:
    """Whether all are bound to names of a module, or to a certain one."""
    return bool(bounds) and all(
        each.is_from(place) or (each.module and f"{each.module.name}.{each.name}" == place)
        for each in bounds
    )


def _type_of(bound: Bound) -> str:
    """Of a name such as `Size`, which `ntpcompanion.checks` defines as `Annotated[int, ...]`, the
    type; "" of another one.
    """
    value = getattr(getattr(bound.statement, "node", None), "value", None)
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Tuple):
        return ast.unparse(value.slice.elts[0])
    return ""


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

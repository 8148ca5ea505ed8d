"""The definitions that names of a module rest on, each by its name and the hash of its syntax tree.

A definition is a statement at the top of a module. Where it stands makes no difference: a name in
it counts as the definition that it is bound to, so that a move changes nothing.
"""

import ast
import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ntpcompanion.workflow.base.files import files_below, sha256
from ntpcompanion.workflow.running.modules import Bound, Module, Packages, is_lazy
from ntpcompanion.workflow.running.purity import (
    Trap,
    attributes_in,
    is_marked,
    is_pure,
    is_simple_call,
    swallows,
    traps,
)
from ntpcompanion.workflow.running.statements import (
    PLAIN_DECORATORS,
    Import,
    Reference,
    Statement,
    last_name,
)

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
    "linecache tokenize currentframe _getframe extract_stack __code__ __globals__ f_globals "
    "__file__ __path__ __spec__ __loader__ listdir scandir iterdir rglob iglob walk_packages "
    "iter_modules pkgutil entry_points spec_from_file_location runpy run_path run_module "
    "SourceFileLoader meta_path path_hooks reload load_module __subclasses__ __module__".split()
)
BLIND_BUILTINS = frozenset({"exec", "eval", "compile", "globals"})
IMPORTERS = frozenset({"import_module", "__import__"})
OF_THE_MODULE = frozenset({"__name__", "__package__"})
REGISTERS = frozenset({"__init_subclass__", "metaclass", "__set_name__"})
# calls at the top of a module that change nothing
MAKES = frozenset(
    "TypeVar ParamSpec NewType namedtuple compile frozenset set tuple dict list range len min max "
    "sum float int str bool abs sorted zip enumerate Path array asarray zeros ones eye arange "
    "linspace geomspace logspace sqrt log exp pi getLogger MappingProxyType partial Fraction "
    "Decimal finfo iinfo dtype device split join format cast dedent items keys values "
    "attrgetter itemgetter field Field ConfigDict".split()
)


@dataclass
class _Choice:
    """What counts beside the code: found out from pass to pass, and only growing."""

    handed: set[str] = field(default_factory=set)
    introspected: bool = False
    registers: bool = False
    properties: frozenset[str] = frozenset()
    caught: set[int] = field(default_factory=set)  # statements whose calls of checks count
    all_caught: bool = False

    def state(self) -> tuple[object, ...]:
        sizes = (len(self.handed), len(self.properties), len(self.caught))
        return (*sizes, self.introspected, self.registers, self.all_caught)


def definition_hashes(
    module: str, names: Iterable[str], *folders: Path, texts: Sequence[str] = ()
) -> dict[str, str]:
    """What the `names` of a `module` rest on in the packages of the `folders`.

    Parameters
    ----------
    module
        its full name.
    names
        of definitions, such as `["Plan", "Result", "run"]`.
    folders
        the folders of the packages whose sources count.
    texts
        what the definitions are given and may import by name.

    Returns
    -------
    dict
        the hash of every definition that is reached, by its name; of several equal names the later
        ones in the order in which they are reached as "name (2)". A statement that runs at import
        and may change something is named by its first words. Where a program looks for modules,
        sources or texts that cannot be seen here, the hash of all files of the package by its name.

    Raises
    ------
    WorkflowError
        naming a file that is not Python.

    Notes
    -----
    Comments and layout do not count. Left out are docstrings and annotations of functions that are
    only called, unless the program introspects anything, and calls of functions that
    `ntpcompanion.argument_check` marks and that can be seen to be pure.
    """
    packages, choice = Packages(folders), _Choice()
    while True:
        before = choice.state()
        reach = _Reach(packages, choice, texts)
        reach.start(module, names)
        reach.learn()
        if choice.state() == before:
            return reach.hashes()


class _Reach:
    """One pass through everything that is reached."""

    def __init__(self, packages: Packages, choice: _Choice, texts: Sequence[str]) -> None:
        self.packages, self.choice, self.texts = packages, choice, list(texts)
        self.todo: list[tuple[Module, Statement]] = []
        self.labels: dict[Statement, str] = {}
        self.homes: dict[Statement, Module] = {}
        self.counts: dict[str, int] = {}
        self.next: dict[Statement, list[tuple[Reference, Statement]]] = {}
        self.outside: dict[Statement, set[str]] = {}
        self.nodes: dict[int, str] = {}
        self.of_libraries: set[int] = set()  # nodes of names that libraries define
        self.left_out: set[int] = set()
        self.calls: dict[Statement, list[int]] = {}
        self.loaded: set[str] = set()
        self.whole: set[str] = set()
        self.computed: set[str] = set()

    def start(self, module: str, names: Iterable[str]) -> None:
        self.load(module)
        if (root := self.packages.module(module)) is not None:
            for name in names:
                for bound in self.packages.attribute(root, name):
                    self.reach(bound)
        while self.todo:
            self.visit(*self.todo.pop(0))
        if self.computed:
            self.whole |= {name for name in self.packages.folders if self._is_spelled(name)}

    def load(self, dotted: str) -> None:
        """Importing a module runs its statements, and imports what they import."""
        for module in self.packages.above(dotted):
            if module.name in self.loaded:
                continue
            self.loaded.add(module.name)
            for statement in module.statements:
                self.load_all(module, statement.imports)
                if is_lazy(statement):
                    self.homes.setdefault(statement, module)
                    for reference in statement.references:
                        if reference.nodes[-1] is statement.node.value.func:  # type: ignore
                            self.follow(statement, module, reference)
                elif self.acts(module, statement):
                    self.label(module, statement)

    def load_all(self, module: Module, imports: Sequence[Import]) -> None:
        for each in imports:
            self.load(module.absolute(each.loads))
            self.load(module.absolute(each.target))

    def label(self, module: Module, statement: Statement) -> str:
        if statement not in self.labels:
            name = getattr(statement.node, "name", None) or ", ".join(sorted(statement.names))
            name = name or ast.unparse(statement.node).partition("\n")[0][:60]
            self.counts[name] = self.counts.get(name, 0) + 1
            self.labels[statement] = (
                name if self.counts[name] == 1 else f"{name} ({self.counts[name]})"
            )
            self.homes[statement] = module
            self.todo.append((module, statement))
        return self.labels[statement]

    def visit(self, module: Module, statement: Statement) -> None:
        self.load(module.name)
        self.load_all(module, [*statement.imports, *statement.deferred])
        self.texts += statement.texts
        self.leave_out(module, statement)
        for reference in statement.references:
            if reference.part is None or id(reference.part) not in self.left_out:
                self.follow(statement, module, reference)
        self.look(module, statement)

    def leave_out(self, module: Module, statement: Statement) -> None:
        for part in statement.parts:
            if part.kind == "call":
                if self._is_check(module, statement, part.node):
                    self.left_out.add(id(part.node))
                    self.calls.setdefault(statement, []).append(id(part.node))
            elif not self.choice.introspected and not part.owners & self.choice.handed:
                self.left_out.add(id(part.node))

    def _is_check(self, module: Module, statement: Statement, node: ast.AST) -> bool:
        if (
            self.choice.all_caught
            or id(statement) in self.choice.caught
            or not is_simple_call(node)
        ):
            return False
        if {each.attr for each in attributes_in(ast.walk(node))} & self.choice.properties:
            return False
        called = node.value.func  # type: ignore[attr-defined]
        found = [each for each in statement.references if each.nodes[-1] is called]
        resolve = self.packages.resolve
        bound = [one for each in found for one in resolve(module, each)]
        return bool(bound) and all(
            one.statement is not None
            and one.module is not None
            and is_marked(one.module, one.statement, resolve)
            and is_pure(one.module, one.statement, resolve, self.choice.properties)
            for one in bound
        )

    def follow(self, statement: Statement, module: Module, reference: Reference) -> None:
        bounds = self.packages.resolve(module, reference)
        first = reference.parts[0]
        if not bounds:
            if first in BLIND_BUILTINS:
                self.whole.add(module.name.partition(".")[0])
            if first in OF_THE_MODULE:
                self.nodes[id(reference.nodes[0])] = f"{first} of {module.name}"
                self.texts.append(module.name)
            return
        labels = []
        for bound in bounds:
            labels.append(self.reach(bound))
            if bound.statement is not None:
                self.next.setdefault(statement, []).append((reference, bound.statement))
            if bound.outside:
                self.outside.setdefault(statement, set()).add(
                    ".".join([bound.outside, *reference.parts[bound.parts :]])
                )
        if all(bound.outside and bound.module is None for bound in bounds):
            self.of_libraries |= {id(node) for node in reference.nodes}
        at = min(max(bound.parts, 1) for bound in bounds) - 1
        self.nodes[id(reference.nodes[at])] = " | ".join(sorted({*labels}))

    def reach(self, bound: Bound) -> str:
        module = bound.module
        if module is None:
            return bound.outside
        if bound.statement is not None:
            label = self.label(module, bound.statement)
            return label if len(bound.statement.names) == 1 else f"{bound.name} of {label}"
        self.load(module.name)
        if bound.outside or module.is_package:
            self.whole.add(module.name.partition(".")[0])
        else:
            self._whole_module(module)
        return f"module {module.name.rpartition('.')[2]}"

    def _whole_module(self, module: Module) -> None:
        """What is handed on as a whole may be asked for any of its names."""
        key = f"{module.name}.*"
        if key in self.loaded:
            return
        self.loaded.add(key)
        for statement in module.statements:
            for name in sorted(statement.names):
                for bound in self.packages.attribute(module, name):
                    self.reach(bound)

    def look(self, module: Module, statement: Statement) -> None:
        """What a statement names that leads where nothing can be seen."""
        parts = {part for name in self.outside.get(statement, ()) for part in name.split(".")}
        words = statement.words | parts | {*statement.texts}
        package = module.name.partition(".")[0]
        if words & LOOKS_ANYWHERE or ("__getattr__" in statement.names and not is_lazy(statement)):
            self.whole.add(package)
        if {"glob", "walk"} & parts & {"glob", "walk"} or "glob" in statement.words:
            self.whole.add(package)
        if (
            "modules" in words
            and "sys" in words | parts
            and not _literal_modules(statement, self.packages)
        ):
            self.whole.add(package)
        self.choice.introspected |= bool(words & INTROSPECTS)
        self.choice.registers |= bool(words & REGISTERS)
        if words & IMPORTERS:
            self._imports_by_name(module, statement)

    def _imports_by_name(self, module: Module, statement: Statement) -> None:
        calls = [n for n in ast.walk(statement.node) if isinstance(n, ast.Call)]
        calls = [call for call in calls if last_name(call) in IMPORTERS]
        named = [call.args[0] for call in calls if len(call.args) == 1 and not call.keywords]
        texts = [each.value for each in named if isinstance(each, ast.Constant)]
        texts = [text for text in texts if isinstance(text, str) and text[:1] != "."]
        if not calls or len(texts) < len(calls):
            self.computed.add(module.name)
            if any(len(call.args) + len(call.keywords) > 1 for call in calls):  # a relative import
                self.whole.add(module.name.partition(".")[0])
        for text in texts:
            *_, last = [None, *self.packages.above(text)]
            if last is not None:
                self.reach(Bound(0, last))

    def _is_spelled(self, package: str) -> bool:
        """Whether some text may be the name of a module of a package."""
        pattern = re.compile(rf"\b{re.escape(package)}(\.|$)")
        return any(map(pattern.search, self.texts))

    def acts(self, module: Module, statement: Statement) -> bool:
        """Whether a statement that runs at import may change anything but its own names."""
        return any(self._acts(module, statement, node) for node in [statement.node])

    def _acts(self, module: Module, statement: Statement, node: ast.AST) -> bool:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names = {last_name(each) for each in node.decorator_list}
                is_class = isinstance(node, ast.ClassDef)
                return not names <= PLAIN_DECORATORS or (is_class and self.choice.registers)
            case ast.Import() | ast.ImportFrom() | ast.Pass():
                return False
            case ast.Expr():
                return not isinstance(node.value, ast.Constant)
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                places = (each for target in targets for each in ast.walk(target))
                if any(isinstance(each, ast.Attribute | ast.Subscript) for each in places):
                    return True
                return node.value is not None and self._calls(module, statement, node.value)
            case ast.If() if last_name(node.test) == "TYPE_CHECKING":
                return any(self._acts(module, statement, each) for each in node.orelse)
            case ast.If() if "__main__" in [getattr(n, "value", 0) for n in ast.walk(node.test)]:
                return False
            case ast.If() | ast.Try():
                if isinstance(node, ast.If) and self._calls(module, statement, node.test):
                    return True
                inside = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
                inside += [each for one in getattr(node, "handlers", []) for each in one.body]
                return any(self._acts(module, statement, each) for each in inside)
        return True

    def _calls(self, module: Module, statement: Statement, node: ast.expr) -> bool:
        """Whether an expression calls what may change something."""
        inside = [n for n in _now(node) if isinstance(n, ast.Call)]
        own = {id(each.nodes[-1]): each for each in statement.references}
        for call in inside:
            reference = own.get(id(call.func))
            bound = self.packages.resolve(module, reference) if reference else []
            if last_name(call) not in MAKES or any(each.module is not None for each in bound):
                return not _is_own_class(bound)
        return False

    def learn(self) -> None:
        """What this pass says about the next one."""
        choice = self.choice
        choice.handed |= {name for each in self.labels for name in each.handed}
        choice.properties |= frozenset(n for each in self.labels for n in _properties(each.node))
        seeds: list[Statement] = []
        for each in self.labels:
            if swallows(each, self.outside.get(each, ())):
                choice.all_caught = True
            for trap in traps(each):
                seeds += self._within(each, trap)
                choice.all_caught |= trap.wild
        self._catch(seeds)

    def _within(self, statement: Statement, trap: Trap) -> list[Statement]:
        pairs = self.next.get(statement, [])
        found = [to for reference, to in pairs if id(reference.nodes[0]) in trap.nodes]
        return found + self._with_methods(self._attributes(trap.attributes))

    def _attributes(self, nodes: Iterable[ast.Attribute]) -> frozenset[str]:
        return frozenset(node.attr for node in nodes if id(node) not in self.of_libraries)

    def _with_methods(self, names: frozenset[str]) -> list[Statement]:
        return [each for each in self.labels if _methods(each) & names]

    def _catch(self, todo: list[Statement]) -> None:
        """Everything that may run where its errors are caught keeps its checks."""
        seen: set[Statement] = set()
        while todo:
            statement = todo.pop()
            if statement in seen:
                continue
            seen.add(statement)
            self.choice.all_caught |= bool(statement.free_calls)
            todo += [to for _, to in self.next.get(statement, [])]
            todo += self._with_methods(self._attributes(attributes_of(statement)))
        self.choice.caught |= {id(each) for each in seen}

    def hashes(self) -> dict[str, str]:
        found = {
            label: sha256(json.dumps(_plain(statement.node, self.nodes, self.left_out)))
            for statement, label in self.labels.items()
        }
        for name in self.whole:
            found[f"all files of {name}"] = folder_hash(self.packages.folders[name])
        return dict(sorted(found.items()))


def folder_hash(folder: Path) -> str:
    """Of the names and contents of all files below a folder, but those that Python makes itself."""
    files = (path for path in files_below(folder) if "__pycache__" not in path.parts)
    named = {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes().replace(b"\r\n", b"\n"))
        for path in files
    }
    return sha256(json.dumps(named, sort_keys=True))


@functools.cache
def attributes_of(statement: Statement) -> tuple[ast.Attribute, ...]:
    """All attributes in a statement."""
    return attributes_in(ast.walk(statement.node))


@functools.cache
def _methods(statement: Statement) -> frozenset[str]:
    if not isinstance(statement.node, ast.ClassDef):
        return frozenset()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(n.name for n in ast.walk(statement.node) if isinstance(n, kinds))


def _properties(node: ast.stmt) -> Iterable[str]:
    if isinstance(node, ast.ClassDef):
        for each in node.body:
            if isinstance(each, ast.FunctionDef) and each.decorator_list:
                yield each.name


def _is_own_class(bound: Sequence[Bound]) -> bool:
    return False


def _now(node: ast.AST) -> Iterable[ast.AST]:
    """A node and those below that run with it: not the body of a lambda."""
    yield node
    if not isinstance(node, ast.Lambda):
        for each in ast.iter_child_nodes(node):
            yield from _now(each)


def _literal_modules(statement: Statement, packages: Packages) -> bool:
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
    return len(names) == uses and not tops & packages.folders.keys()


def _plain(node: object, labels: Mapping[int, str], left_out: set[int]) -> object:
    """A tree as lists and texts. Empty fields are left out: later versions of Python add some."""
    if isinstance(node, list):
        return [_plain(each, labels, left_out) for each in node if id(each) not in left_out]
    if isinstance(node, ast.Constant):
        return ["Constant", ascii(node.value)]
    if not isinstance(node, ast.AST):
        return ascii(node)
    if id(node) in labels:
        return ["Name", labels[id(node)]]
    fields = {
        name: _plain(value, labels, left_out)
        for name, value in ast.iter_fields(node)
        if value not in (None, []) and name not in ("ctx", "simple") and id(value) not in left_out
    }
    if isinstance(node, ast.Module):
        return [type(node).__name__, fields]
    return [type(node).__name__, {name: value for name, value in fields.items() if value != []}]

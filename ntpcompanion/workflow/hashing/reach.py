"""The definitions that names of a module rest on, each by its name and the hash of its syntax tree.

A definition is a statement at the top of a module. Where it stands makes no difference: a name in
it counts as the definition that it is bound to, so that a move changes nothing.
"""

import ast
import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ntpcompanion.workflow.hashing.bindings import Import
from ntpcompanion.workflow.hashing.catching import may_be_caught, methods_of
from ntpcompanion.workflow.hashing.elsewhere import (
    BLIND_BUILTINS,
    IMPORTERS,
    INTROSPECTS,
    OF_THE_MODULE,
    REGISTERS,
    acts,
    folder_hash,
    imported_by_name,
    looks_anywhere,
)
from ntpcompanion.workflow.hashing.modules import Bound, Module, Packages, is_lazy
from ntpcompanion.workflow.hashing.purity import (
    DECORATOR,
    bound_to,
    is_from,
    is_simple_call,
    only_checks,
    only_raises,
    stands_for,
)
from ntpcompanion.workflow.hashing.statements import Reference, Statement
from ntpcompanion.workflow.hashing.tree_hash import tree_hash


@dataclass
class _Choice:
    """What counts beside the code: found out from pass to pass, and only growing."""

    handed: set[str] = field(default_factory=set)
    introspected: bool = False
    registers: bool = False
    methods: set[str] = field(default_factory=set)  # of classes: what looks like data may run
    caught: bool = False  # an error of a check may be: all of them count

    def state(self) -> tuple[object, ...]:
        sizes = (len(self.handed), len(self.methods))
        return (*sizes, self.introspected, self.registers, self.caught)


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
    Comments and layout do not count. Left out are docstrings, and annotations of functions that are
    only called, unless the program introspects anything or a decorator may read them; calls of
    functions that `ntpcompanion.validation` marks and that can be seen to be pure; and, where no
    error of its may be caught, the decorator `ntpcompanion.checks.checked` with what it reads
    beside the types of fields.
    """
    state = tuple(map(folder_hash, folders))
    packages, choice = _packages(folders, state), _Choice()
    while True:
        before = choice.state()
        reach = _Reach(packages, choice, texts)
        reach.start(module, names)
        reach.learn()
        if choice.state() == before:
            return reach.hashes()


# records of a book share most of their definitions
@functools.lru_cache(maxsize=1)
def _packages(folders: tuple[Path, ...], state: tuple[str, ...]) -> Packages:
    """The packages while their files are in one `state`."""
    return Packages(folders)


class _Reach:
    """One pass through everything that is reached."""

    def __init__(self, packages: Packages, choice: _Choice, texts: Sequence[str]) -> None:
        self.packages, self.choice, self.texts = packages, choice, list(texts)
        self.todo: list[tuple[Module, Statement]] = []
        self.labels: dict[Statement, str] = {}
        self.counts: dict[str, int] = {}
        self.next: dict[Statement, list[tuple[Reference, Statement]]] = {}
        self.outside: dict[Statement, set[str]] = {}
        self.nodes: dict[int, str] = {}
        self.of_libraries: set[int] = set()  # nodes of names that libraries define
        self.left_out: set[int] = set()
        self.replaced: dict[int, ast.AST] = {}
        self.calls: dict[Statement, list[int]] = {}
        self.loaded: set[str] = set()
        self.whole: set[str] = set()
        self.computed = False

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
                    called = statement.node.value.func  # type: ignore[attr-defined]  # is_lazy: a call
                    for reference in statement.references:
                        if reference.nodes[-1] is called:
                            self.follow(statement, module, reference)
                elif self.acts(module, statement):
                    self.label(module, statement)

    def acts(self, module: Module, statement: Statement) -> bool:
        """Whether a statement counts because its module is imported."""
        if module.name == DECORATOR:
            return False  # it says what annotations may say
        is_class = isinstance(statement.node, ast.ClassDef)
        registers = is_class and self.choice.registers
        return registers or acts(self.packages, module, statement.node, statement)

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
            self.todo.append((module, statement))
        return self.labels[statement]

    def visit(self, module: Module, statement: Statement) -> None:
        self.load(module.name)
        self.load_all(module, [*statement.imports, *statement.deferred])
        self.texts += statement.texts
        self.leave_out(module, statement)
        for reference in statement.references:
            part = id(reference.part)
            if part not in self.left_out and part not in self.replaced:
                self.follow(statement, module, reference)
        self.look(module, statement)

    def leave_out(self, module: Module, statement: Statement) -> None:
        counted: set[str] = set()  # functions whose annotations are checked where it matters
        for part in statement.parts:
            if part.kind in ("check", "marks"):
                ours = not self.choice.caught and only_checks(
                    self.packages, module, statement, part.node, self.choice.methods
                )
                if part.kind == "check" and ours:
                    self.left_out.add(id(part.node))
                elif ours:
                    annotated = part.node.slice.elts[0]  # type: ignore[attr-defined]  # Annotated[...]
                    self.replaced[id(part.node)] = annotated
                elif part.kind == "check":
                    counted |= part.owners
            elif part.kind == "call":
                if self._is_check(module, statement, part.node):
                    self.left_out.add(id(part.node))
                    self.calls.setdefault(statement, []).append(id(part.node))
            elif not self.choice.introspected and (
                part.kind == "docstring" or not part.owners & (self.choice.handed | counted)
            ):
                self.left_out.add(id(part.node))

    def _is_check(self, module: Module, statement: Statement, node: ast.AST) -> bool:
        if self.choice.caught or not is_simple_call(node):
            return False
        if {getattr(each, "attr", "") for each in ast.walk(node)} & self.choice.methods:
            return False
        called = node.value.func  # type: ignore[attr-defined]  # is_simple_call: a call
        bound = bound_to(self.packages, module, statement, called)
        return bool(bound) and all(map(self._may_only_raise, bound))

    def _may_only_raise(self, bound: Bound) -> bool:
        module, statement, known = bound.module, bound.statement, self.packages.only_raise
        if module is None or statement is None:
            return False
        if statement not in known:
            known[statement] = only_raises(self.packages, module, statement)
        attributes = {getattr(each, "attr", "") for each in ast.walk(statement.node)}
        return known[statement] and not attributes & self.choice.methods

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
        if name := _of_checks(bounds):
            self.nodes[id(reference.nodes[-1])] = name
            return
        kind = stands_for(bounds[0])
        if kind is not None and not self.choice.caught:
            self.replaced[id(reference.nodes[-1])] = kind
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
        index = min(max(bound.parts, 1) for bound in bounds) - 1
        self.nodes[id(reference.nodes[index])] = " | ".join(sorted({*labels}))

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
        if f"{module.name}.*" in self.loaded:
            return
        self.loaded.add(f"{module.name}.*")
        for statement in module.statements:
            for name in sorted(statement.names):
                for bound in self.packages.attribute(module, name):
                    self.reach(bound)

    def look(self, module: Module, statement: Statement) -> None:
        """What a statement names that leads where nothing can be seen."""
        outside = self.outside.get(statement, set())
        words = statement.words | {part for name in outside for part in name.split(".")}
        package = module.name.partition(".")[0]
        if looks_anywhere(statement, outside, self.packages.folders):
            self.whole.add(package)
        self.choice.introspected |= bool((words | {*statement.texts}) & INTROSPECTS)
        self.choice.registers |= bool(words & REGISTERS)
        if words & IMPORTERS:
            names, computed, relative = imported_by_name(statement)
            self.computed |= computed
            self.whole |= {package} if relative else set()
            for module in (each for name in names for each in [*self.packages.above(name)][-1:]):
                self.reach(Bound(0, module))

    def _is_spelled(self, package: str) -> bool:
        """Whether some text may be the name of a module of a package."""
        pattern = re.compile(rf"\b{re.escape(package)}(\.|$)")
        return any(map(pattern.search, self.texts))

    def learn(self) -> None:
        """What this pass says about the next one."""
        choice = self.choice
        choice.handed |= {name for each in self.labels for name in each.handed}
        choice.methods |= {name for each in self.labels for name in methods_of(each)}
        choice.caught |= may_be_caught(self.labels, self.next, self.outside, self.of_libraries)

    def _hash(self, statement: Statement) -> str:
        names = {id(node) for each in statement.references for node in each.nodes}
        labels = tuple((name, self.nodes[name]) for name in sorted(names) if name in self.nodes)
        parts = {id(each.node) for each in statement.parts} & self.left_out
        nodes = names | {id(each.node) for each in statement.parts}
        replaced = tuple(sorted(nodes & self.replaced.keys()))
        key = (statement, labels, tuple(sorted(parts)), replaced)
        if key not in self.packages.hashes:
            self.packages.hashes[key] = tree_hash(
                statement.node, self.nodes, self.left_out, self.replaced
            )
        return self.packages.hashes[key]

    def hashes(self) -> dict[str, str]:
        result = {label: self._hash(statement) for statement, label in self.labels.items()}
        for name in self.whole:
            result[f"all files of {name}"] = folder_hash(self.packages.folders[name])
        return dict(sorted(result.items()))


def _of_checks(bounds: list[Bound]) -> str:
    """The name, if it is one that `ntpcompanion.checks` gives to a decorator; else ""."""
    for name in ("checked", "need"):
        if all(is_from(DECORATOR, bound, name) for bound in bounds):
            return name
    return ""

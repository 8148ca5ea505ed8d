"""The definitions that names of a module rest on, each by its name and the hash of its syntax tree.

A definition is a statement at the top of a module. Where it stands makes no difference: a name in
it counts as the definition that it is bound to, so that a move changes nothing.
"""

import ast
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ntpcompanion.workflow.hashing.bindings import (
    Bound,
    Import,
    Module,
    Packages,
    Statement,
    is_lazy,
)
from ntpcompanion.workflow.hashing.statements import (
    CHECKS,
    IMPORTERS,
    OF_THE_MODULE,
    Reading,
    acts,
    folder_hash,
    looks_anywhere,
    read_statement,
)

Read = Callable[..., Reading]  # of a module, a statement and functions whose annotations count


def definition_hashes(
    module: str, names: Iterable[str], *folders: Path, texts: Sequence[str] = ()
) -> dict[str, str]:
    """The hash of every definition that the `names` of a `module` rest on in the packages of the
    `folders`, by its name; `texts` are what the definitions are given and may import by name.

    Of several equal names the later ones in the order in which they are reached are "name (2)". A
    statement that runs at import and may change something is named by its first words. Where a
    program reads docstrings or sources, or looks for modules that cannot be seen here, there is the
    hash of all files of the package by its name.

    Comments and layout do not count. Left out are docstrings, and annotations of functions that are
    only called, unless an unknown decorator may read them; calls of functions that
    `ntpcompanion.validation.argument_check` marks; the decorator `ntpcompanion.checks.checked`, and
    what it reads beside the types of fields.
    """
    packages, read = _packages(folders, tuple(map(folder_hash, folders)))
    handed: set[str] = set()  # names of functions whose annotations somebody may read
    while True:
        reach = _Reach(packages, read, frozenset(handed), texts)
        reach.start(module, names)
        if reach.handed <= handed:
            return reach.hashes()
        handed |= reach.handed


# records of a book share most of their definitions
@functools.lru_cache(maxsize=1)
def _packages(folders: tuple[Path, ...], state: tuple[str, ...]) -> tuple[Packages, Read]:
    """The packages while their files are in one `state`, and what their statements say."""
    packages = Packages(folders)
    return packages, functools.cache(functools.partial(read_statement, packages))


class _Reach:
    """One pass through everything that is reached."""

    def __init__(
        self, packages: Packages, read: Read, known: frozenset[str], texts: Sequence[str]
    ) -> None:
        self.packages, self.known, self.texts = packages, known, list(texts)
        self.read_once = read
        self.todo: list[tuple[Module, Statement]] = []
        self.labels: dict[Statement, str] = {}
        self.readings: dict[Statement, tuple[Reading, list[str]]] = {}
        self.counts: dict[str, int] = {}
        self.handed: set[str] = set()
        self.loaded: set[str] = set()
        self.whole: set[str] = set()

    def start(self, module: str, names: Iterable[str]) -> None:
        self.load(module)
        if (root := self.packages.module(module)) is not None:
            for name in names:
                for bound in self.packages.attribute(root, name):
                    self.reach(bound)
        while self.todo:
            self.visit(*self.todo.pop(0))
        if any(IMPORTERS & (each.words | each.outside) for each, _ in self.readings.values()):
            # what is imported by a computed name may be what some text spells
            self.whole |= {name for name in self.packages.folders if self._is_spelled(name)}

    def load(self, dotted: str) -> None:
        """Importing a module runs its statements, and imports what they import."""
        for module in self.packages.above(dotted):
            if module.name in self.loaded:
                continue
            self.loaded.add(module.name)
            # what annotations may say moves no number
            for statement in module.statements if module.name != CHECKS else []:
                self.load_all(module, statement.imports)
                if is_lazy(statement.node):
                    for _, bounds in self.read(module, statement).called:
                        _ = [self.reach(bound) for bound in bounds]
                elif acts(statement, self.read(module, statement)):
                    self.label(module, statement)

    def load_all(self, module: Module, imports: Iterable[Import]) -> None:
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

    def read(self, module: Module, statement: Statement) -> Reading:
        return self.read_once(module, statement, self.known & statement.defined)

    def visit(self, module: Module, statement: Statement) -> None:
        self.load(module.name)
        self.load_all(module, statement.within)
        reading = self.read(module, statement)
        labels = [" | ".join(sorted({*map(self.reach, each)})) for each in reading.references]
        of_module = [
            f"{name} of {module.name}" for name in sorted(reading.builtins & OF_THE_MODULE)
        ]
        self.readings[statement] = reading, labels + of_module
        self.texts += [*reading.texts, *([module.name] if of_module else [])]
        self.handed |= reading.handed
        if looks_anywhere(statement, reading):
            self.whole.add(module.name.partition(".")[0])

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

    def _is_spelled(self, package: str) -> bool:
        """Whether some text may be the name of a module of a package."""
        pattern = re.compile(rf"\b{re.escape(package)}(\.|$)")
        return any(map(pattern.search, self.texts))

    def hashes(self) -> dict[str, str]:
        result = {
            label: self.readings[statement][0].hash(self.readings[statement][1])
            for statement, label in self.labels.items()
        }
        for name in self.whole:
            result[f"all files of {name}"] = folder_hash(self.packages.folders[name])
        return dict(sorted(result.items()))

"""What a statement of a module refers to, by the scopes of Python. It is read, and never run."""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ntpcompanion.workflow.hashing.bindings import (
    Comprehension,
    Function,
    Import,
    arguments_of,
    asked_for_package,
    bound_by,
    imports_of,
    last_name,
)

Kind = Literal["docstring", "annotation", "call", "check", "marks"]

# decorators that neither read what they decorate nor remember it elsewhere
PLAIN_DECORATORS = frozenset(
    "staticmethod classmethod property setter cache lru_cache cached_property contextmanager "
    "abstractmethod override final dataclass total_ordering argument_check checked "
    "no_grad enable_grad inference_mode".split()
)


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a statement that may be left out, and the functions and classes around it.

    Of a "check", a decorator, one of them is what it decorates. Of "marks", `Annotated[...]` in the
    annotation of a field, what is annotated stays.
    """

    kind: Kind
    node: ast.AST
    owners: frozenset[str]


@dataclass(frozen=True, eq=False)
class Reference:
    """A name of the module or of an import, with its attributes: their nodes from the inside out.

    `imports` are those of a function that bind the name; `part` is the outermost part that may be
    left out around it.
    """

    nodes: tuple[ast.expr, ...]
    imports: tuple[Import, ...]
    part: ast.AST | None

    @property
    def parts(self) -> list[str]:
        """The name and its attributes."""
        return [node.id if isinstance(node, ast.Name) else _attr(node) for node in self.nodes]


@dataclass(eq=False)
class Statement:
    """A statement at the top of a module, and what it uses.

    Fields
    ------
    node, names, imports
        its tree, the names that it binds in the module, and the imports that run with it.
    deferred
        imports within functions.
    references, parts
        in the order of the text.
    handed
        names of what is handed on, not called: a function of such a name may be introspected.
    words, texts
        every name and attribute; every text that is not a docstring.
    free_calls
        nodes of calls whose function is not known by name.
    """

    node: ast.stmt
    names: frozenset[str] = frozenset()
    imports: list[Import] = field(default_factory=list)
    deferred: list[Import] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    handed: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    free_calls: list[ast.Call] = field(default_factory=list)


@dataclass
class _Scope:
    names: set[str]
    imports: list[Import]
    is_class: bool = False


def read_statement(node: ast.stmt) -> Statement:
    """What a statement at the top of a module binds and refers to."""
    statement = Statement(node)
    reader = _Reader(statement)
    names, _ = bound_by([node])
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    statement.names = frozenset({"__doc__"} if is_docstring else names)
    reader.visit(node)
    return statement


def _attr(node: ast.expr) -> str:
    assert isinstance(node, ast.Attribute)
    return node.attr


class _Reader(ast.NodeVisitor):
    """Fills a statement while it keeps the scopes around a node."""

    def __init__(self, statement: Statement) -> None:
        self.into = statement
        self.scopes: list[_Scope] = []
        self.owners: list[str] = []
        self.part: ast.AST | None = None
        self.opaque = False  # within what an unknown decorator or metaclass may read
        self.in_field = False  # within the annotation of one

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        deferred = any(not scope.is_class for scope in self.scopes)
        (self.into.deferred if deferred else self.into.imports).extend(imports_of(node))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.visit_Import(node)

    def visit_If(self, node: ast.If) -> None:
        if last_name(node.test) != "TYPE_CHECKING":
            self.generic_visit(node)
        else:
            self._all(node.orelse)

    def visit_FunctionDef(self, node: Function) -> None:
        self._decorators(node)
        before = self._enter(node)
        arguments = node.args
        self._all([*arguments.defaults, *filter(None, arguments.kw_defaults)])
        every = arguments_of(arguments)
        for annotation in [*(each.annotation for each in every), node.returns]:
            self._optional("annotation", annotation)
        names, imports = bound_by(node.body)
        self.scopes.append(_Scope(names | {each.arg for each in every}, imports))
        for each in self._documented(node.body):
            self._in_body(each)
        self._leave(before)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._decorators(node)
        self._quietly(node.bases)
        self._all(node.keywords)
        before = self._enter(node)
        self.scopes.append(_Scope(*bound_by(node.body), is_class=True))
        self._all(self._documented(node.body))
        self._leave(before)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._all([*node.args.defaults, *filter(None, node.args.kw_defaults)])
        self.scopes.append(_Scope({each.arg for each in arguments_of(node.args)}, []))
        self.visit(node.body)
        self.scopes.pop()

    def _comprehension(self, node: Comprehension) -> None:
        targets = [each.target for each in node.generators]
        self.visit(node.generators[0].iter)  # evaluated outside
        self.scopes.append(_Scope(bound_by(targets)[0], []))
        for number, each in enumerate(node.generators):
            self._all([each.target, *([each.iter] if number else []), *each.ifs])
        self._all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self.scopes.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._all([node.target, *([node.value] if node.value else [])])
        if self.scopes and not self.scopes[-1].is_class:
            return  # Python evaluates no annotation of a local variable
        if self.scopes:
            self.in_field = True
            self.visit(node.annotation)
            self.in_field = False
        else:
            self._optional("annotation", node.annotation)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._quietly([node.type] if node.type else [])
        self._all(node.body)

    def visit_Call(self, node: ast.Call) -> None:
        name = last_name(node)
        if not name or (isinstance(node.func, ast.Name) and self._is_local(name)):
            self.into.free_calls.append(node)
        self._quietly([node.func])
        if name in ("isinstance", "issubclass"):
            self._quietly(node.args)
        else:
            self._all([*node.args, *node.keywords])

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if (owner := asked_for_package(node)) is not None:
            self.visit(owner)
            return
        self._quietly([node.value])
        if (
            self.in_field
            and last_name(node.value) == "Annotated"
            and isinstance(node.slice, ast.Tuple)
        ):
            first, *marks = node.slice.elts
            self.visit(first)
            self._aside("marks", node, marks)
        else:
            self.visit(node.slice)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.into.texts.append(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        self._chain(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._chain(node)

    def _chain(self, node: ast.expr, *, handed: bool = True) -> None:
        nodes = [node]
        while isinstance(nodes[0], ast.Attribute):
            nodes.insert(0, nodes[0].value)
        self.into.words |= {last_name(each) for each in nodes} - {""}
        if handed and isinstance(getattr(node, "ctx", None), ast.Load):
            self.into.handed.add(last_name(node))
        root = nodes[0]
        stored = not isinstance(getattr(root, "ctx", None), ast.Load)
        if stored and self.scopes and self.scopes[-1].is_class:
            return  # an attribute of the class
        if not isinstance(root, ast.Name):
            self.visit(root)
        elif not self._is_local(root.id):
            imports = self._local_imports(root.id)
            self.into.references.append(Reference(tuple(nodes), imports, self.part))

    def _scope_of(self, name: str) -> _Scope | None:
        for scope in reversed(self.scopes):
            # a class hides nothing from its methods, and what it binds may be of the module before
            if not scope.is_class and name in scope.names:
                return scope
        return None

    def _is_local(self, name: str) -> bool:
        return self._scope_of(name) is not None and not self._local_imports(name)

    def _local_imports(self, name: str) -> tuple[Import, ...]:
        scopes = [self._scope_of(name), *(each for each in self.scopes if each.is_class)]
        imports = [
            each for scope in scopes if scope for each in scope.imports if each.local == name
        ]
        return tuple(imports)

    def _quietly(self, nodes: Sequence[ast.expr]) -> None:
        """Visit what is called or compared with, not handed on."""
        for node in nodes:
            if isinstance(node, ast.Name | ast.Attribute):
                self._chain(node, handed=False)
            elif isinstance(node, ast.Tuple):
                self._quietly(node.elts)
            else:
                self.visit(node)

    def _all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _enter(self, node: Function | ast.ClassDef) -> tuple[int, bool]:
        before = (len(self.scopes), self.opaque)
        known = {last_name(each) for each in node.decorator_list} <= PLAIN_DECORATORS
        self.opaque |= not known or bool(getattr(node, "keywords", []))
        self.owners.append(node.name)
        self.into.words.add(node.name)
        return before

    def _decorators(self, node: Function | ast.ClassDef) -> None:
        for each in node.decorator_list:
            if last_name(each) == "checked":
                self._aside("check", each, [each], node.name)
            else:
                self.visit(each)

    def _aside(self, kind: Kind, node: ast.AST, marks: Sequence[ast.AST], *owners: str) -> None:
        """Visit what looks at arguments: it hands nothing on."""
        into, outer = self.into, self.part
        handed, free_calls = set(into.handed), list(into.free_calls)
        into.parts.append(Part(kind, node, frozenset({*self.owners, *owners})))
        self.part = outer or node
        self._all(marks)
        self.part = outer
        into.handed, into.free_calls = handed, free_calls

    def _leave(self, before: tuple[int, bool]) -> None:
        depth, self.opaque = before
        del self.scopes[depth:]
        self.owners.pop()

    def _documented(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The body without its docstring, which becomes a part."""
        first = body[0]
        if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
            return body
        if isinstance(first.value.value, str) and not self.opaque:
            self.into.parts.append(Part("docstring", first, frozenset(self.owners)))
        return body[1:]

    def _in_body(self, node: ast.stmt) -> None:
        """A statement of the body of a function: one that only calls may be left out."""
        plain = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        self._optional("call", node) if plain else self.visit(node)

    def _optional(self, kind: Kind, node: ast.AST | None) -> None:
        if node is None:
            return
        outer = self.part
        if kind == "call" or not self.opaque:
            self.into.parts.append(Part(kind, node, frozenset(self.owners)))
            self.part = outer or node
        self.visit(node)
        self.part = outer

"""What of a module can move a number: its syntax tree without docstrings, annotations and checks.

A check is a function whose name begins with `check_` or `_check_`, that returns nothing and changes
nothing: it refuses what a user hands over, or it does nothing at all. A run that was made has
passed its checks, so that one more, one less or a better sentence leaves its numbers.
"""

import ast
import functools
import re

CHECK = re.compile(r"_?check_")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | Function
SUSPENDS = (ast.Yield, ast.YieldFrom, ast.Await)


# of the last module: what looks for its imports and what hashes it ask one after the other
@functools.lru_cache(maxsize=1)
def computing(source: str | bytes) -> ast.Module:
    """The syntax tree of a module without what cannot move a number; it is shared, so only to read.

    Taken out are docstrings; annotations, but those of the fields of a class, which a dataclass
    reads; statements that only call a check, directly in the body of a function, with arguments
    that call nothing but `len`; definitions of checks; and imports of names that nothing else uses.
    A check inside of a loop, a condition or a `try` counts, as there the statement around it would
    have to be judged, too.

    Raises
    ------
    SyntaxError, ValueError, MemoryError, RecursionError
        as `ast.parse`.
    """
    tree = ast.parse(source)
    before = _names(tree)
    _Without().visit(tree)
    _Used(before - _names(tree)).visit(tree)
    return tree


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def is_check(node: ast.AST) -> bool:
    """Whether a node defines a function that can only refuse: it is named as a check, has no
    decorator, returns no value, and assigns to nothing but its own variables.
    """
    return (
        isinstance(node, ast.FunctionDef)
        and CHECK.match(node.name) is not None
        and not node.decorator_list
        and not any(map(_changes, ast.walk(node)))
    )


def _changes(node: ast.AST) -> bool:
    if isinstance(node, ast.Return):
        return node.value is not None
    # an entry or an attribute that is assigned or deleted
    place = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
    return place or isinstance(node, (ast.Global, ast.Nonlocal, *SUSPENDS))


def _calls_check(statement: ast.stmt) -> bool:
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    called, *inner = map(_called, ast.walk(statement.value))
    return CHECK.match(called) is not None and set(inner) <= {"len", ""}


def _called(node: ast.AST) -> str:
    """The last name of the function that a node calls, "" if it calls and changes nothing."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "attr", getattr(node.func, "id", "?"))
    return "?" if isinstance(node, (ast.NamedExpr, *SUSPENDS)) else ""


class _Used(ast.NodeTransformer):
    """Takes out imports of `unused` names."""

    def __init__(self, unused: set[str]) -> None:
        self.unused = unused

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        return self._import(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return self._import(node)

    def _import(self, node: ast.Import | ast.ImportFrom) -> ast.AST | None:
        node.names = [each for each in node.names if (each.asname or each.name) not in self.unused]
        return node if node.names else None


class _Without(ast.NodeTransformer):
    """Takes out all but imports."""

    def __init__(self) -> None:
        self.fields: set[ast.stmt] = set()

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._documented(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.fields |= {each for each in node.body if isinstance(each, ast.AnnAssign)}
        return self._documented(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | None:
        return None if is_check(node) else self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node in self.fields:
            return node
        if node.value is None:
            return None
        return ast.copy_location(ast.Assign([node.target], self.visit(node.value)), node)

    def _function(self, node: Function) -> ast.AST:
        node.returns = None
        node.body = [each for each in node.body if not _calls_check(each)]
        return self._documented(node)

    def _documented(self, node: Documented) -> ast.AST:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        return self.generic_visit(node)

"""Where the error of a check may be caught: there its call may move a number.

When in doubt, an error may be caught.
"""

import ast
import builtins
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from ntpcompanion.workflow.hashing.bindings import last_name
from ntpcompanion.workflow.hashing.statements import Reference, Statement

# what a handler can name without catching what a check raises
OTHER_ERRORS = frozenset(
    "OSError FileNotFoundError PermissionError ImportError ModuleNotFoundError UnicodeDecodeError "
    "UnicodeEncodeError TimeoutError KeyboardInterrupt".split()
)
# contexts of libraries through which errors pass
CONTEXTS = frozenset(
    "errstate no_grad enable_grad inference_mode catch_warnings open autocast device stream graph "
    "sdpa_kernel nullcontext limit threadpool_limits localcontext Lock set_grad_enabled no_sync "
    "TemporaryDirectory closing".split()
)
# by these an error may end anywhere
SWALLOW = frozenset(
    "suppress ExitStack AsyncExitStack __exit__ __aexit__ exception return_exceptions Thread "
    "error_callback excepthook".split()
)
CALLS_NOTHING = frozenset({"operator", "math", "os"})


@dataclass(frozen=True, eq=False)
class Trap:
    """Where an error may be caught: the nodes within, by id, the attributes that they name, and
    whether they call what cannot be known.
    """

    nodes: frozenset[int]
    attributes: tuple[ast.Attribute, ...]
    wild: bool


@functools.cache
def traps(statement: Statement) -> tuple[Trap, ...]:
    """The places of a statement in which an error may be caught and not raised again."""
    return tuple(_traps(statement))


def _traps(statement: Statement) -> Iterator[Trap]:
    free = {id(call) for call in statement.free_calls}
    for node in ast.walk(statement.node):
        if isinstance(node, ast.Try | ast.TryStar) and _catches(node):
            inside = [each for part in node.body for each in ast.walk(part)]
        elif isinstance(node, ast.With | ast.AsyncWith) and not all(map(_passes, node.items)):
            inside = list(ast.walk(node))
        else:
            continue
        wild = any(
            id(each) in free or isinstance(each, ast.Yield | ast.YieldFrom) or _hands_on(each)
            for each in inside
        )
        yield Trap(frozenset(map(id, inside)), attributes_in(inside), wild)


def attributes_in(nodes: Iterable[ast.AST]) -> tuple[ast.Attribute, ...]:
    """The attributes among nodes."""
    return tuple(each for each in nodes if isinstance(each, ast.Attribute))


def _catches(node: ast.Try | ast.TryStar) -> bool:
    leaves = (ast.Return, ast.Break, ast.Continue)
    if any(isinstance(each, leaves) for part in node.finalbody for each in ast.walk(part)):
        return True
    return any(
        not _other_errors(handler.type)
        and not (
            isinstance(handler.body[-1], ast.Raise)
            and not any(isinstance(each, leaves) for each in ast.walk(handler))
        )
        for handler in node.handlers
    )


def _other_errors(kind: ast.expr | None) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    # an attribute, such as `numpy.linalg.LinAlgError`, names an error of a library
    return all(
        isinstance(each, ast.Name | ast.Attribute)
        and (
            last_name(each) in OTHER_ERRORS
            or (isinstance(each, ast.Attribute) and not hasattr(builtins, each.attr))
        )
        for each in kinds
    )


def _passes(item: ast.withitem) -> bool:
    call = item.context_expr
    if last_name(call) == "suppress" and isinstance(call, ast.Call):
        return all(map(_other_errors, call.args))
    # an own context has its own `try`, or an `__exit__`
    return last_name(call) in CONTEXTS or isinstance(getattr(call, "func", call), ast.Name)


def _hands_on(node: ast.AST) -> bool:
    """Whether a call hands a variable to what may call it."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    root = function
    while isinstance(root, ast.Attribute):
        root = root.value
    known = last_name(root) in CALLS_NOTHING or (
        isinstance(function, ast.Name) and hasattr(builtins, function.id)
    )
    return not known and any(isinstance(each, ast.Name) for each in node.args)


def swallows(statement: Statement, outside: Iterable[str]) -> bool:
    """Whether by what a statement names, errors of anything may end; `outside` are names of
    libraries.
    """
    names = {each.rpartition(".")[2] for each in outside}
    if (statement.words - {"suppress"}) & SWALLOW or (names - {"suppress"}) & SWALLOW:
        return True
    if "suppress" not in statement.words:
        return "suppress" in names  # by another name
    calls = (each for each in ast.walk(statement.node) if last_name(each) == "suppress")
    return any(
        isinstance(each, ast.Call) and not all(map(_other_errors, each.args)) for each in calls
    )


@functools.cache
def methods(statement: Statement) -> frozenset[str]:
    """The names of all functions in a class; none of another statement."""
    if not isinstance(statement.node, ast.ClassDef):
        return frozenset()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(each.name for each in ast.walk(statement.node) if isinstance(each, kinds))


def caught_in(
    reached: Iterable[Statement],
    successors: Mapping[Statement, Sequence[tuple[Reference, Statement]]],
    outside: Mapping[Statement, Iterable[str]],
    of_libraries: Set[int],
) -> set[Statement] | None:
    """Which of the statements that are `reached` may run where an error of theirs is caught; None
    if any may.

    Parameters
    ----------
    successors
        where the references of each lead.
    outside
        the names of libraries in each.
    of_libraries
        ids of the nodes of such names.
    """
    reached = list(reached)
    if any(swallows(each, outside.get(each, ())) for each in reached):
        return None

    def with_methods(nodes: Iterable[ast.Attribute]) -> list[Statement]:
        names = {each.attr for each in nodes if id(each) not in of_libraries}
        return [each for each in reached if methods(each) & names]

    todo: list[Statement] = []
    for each in reached:
        for trap in traps(each):
            if trap.wild:
                return None
            todo += with_methods(trap.attributes)
            following = successors.get(each, ())
            todo += [to for by, to in following if id(by.nodes[0]) in trap.nodes]
    caught: set[Statement] = set()
    while todo:
        statement = todo.pop()
        if statement in caught:
            continue
        if statement.free_calls:
            return None
        caught.add(statement)
        todo += [to for _, to in successors.get(statement, ())]
        todo += with_methods(_attributes(statement))
    return caught


@functools.cache
def _attributes(statement: Statement) -> tuple[ast.Attribute, ...]:
    return attributes_in(ast.walk(statement.node))

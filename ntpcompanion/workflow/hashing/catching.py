"""Whether the error of a check may be caught anywhere: then its calls may move a number.

When in doubt, an error may be caught.
"""

import ast
import builtins
from collections.abc import Iterable, Mapping, Sequence, Set

from ntpcompanion.workflow.hashing.bindings import last_name
from ntpcompanion.workflow.hashing.statements import Reference, Statement

# what a handler can name without catching what a check raises
OTHER_ERRORS = frozenset(
    "OSError FileNotFoundError PermissionError ImportError ModuleNotFoundError UnicodeDecodeError "
    "UnicodeEncodeError TimeoutError KeyboardInterrupt".split()
)
# contexts of libraries through which errors pass; what `suppress` names is looked at elsewhere
CONTEXTS = frozenset(
    "errstate no_grad enable_grad inference_mode catch_warnings open autocast device stream graph "
    "sdpa_kernel nullcontext limit threadpool_limits localcontext Lock set_grad_enabled no_sync "
    "TemporaryDirectory closing suppress".split()
)
# by these an error may end anywhere
SWALLOW = frozenset(
    "ExitStack AsyncExitStack __exit__ __aexit__ exception return_exceptions Thread "
    "error_callback excepthook".split()
)
CALLS_NOTHING = frozenset({"operator", "math", "os"})
LEAVES = (ast.Return, ast.Break, ast.Continue)


def may_be_caught(
    reached: Iterable[Statement],
    successors: Mapping[Statement, Sequence[tuple[Reference, Statement]]],
    outside: Mapping[Statement, Iterable[str]],
    of_libraries: Set[int],
) -> bool:
    """Whether some statement that is `reached` may catch an error of another one.

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
    methods = {name for each in reached for name in methods_of(each)}

    def catches(statement: Statement, inside: list[ast.AST]) -> bool:
        nodes = {id(node) for node in inside}
        if any(id(call) in nodes for call in statement.free_calls) or any(map(_hands_on, inside)):
            return True
        named = {to for by, to in successors.get(statement, ()) if id(by.nodes[0]) in nodes}
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        attributes = [node for node in inside if isinstance(node, ast.Attribute)]
        # a constant that leads nowhere checks nothing
        leads_on = {to for to in named for _, after in successors.get(to, ()) if after is not to}
        return any(to in leads_on or isinstance(to.node, kinds) for to in named) or any(
            node.attr in methods and id(node) not in of_libraries for node in attributes
        )

    return any(
        _swallows(each, outside.get(each, ())) or any(catches(each, part) for part in _traps(each))
        for each in reached
    )


def methods_of(statement: Statement) -> set[str]:
    """The names of all functions in a class; none of another statement."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    is_class = isinstance(statement.node, ast.ClassDef)
    nodes = ast.walk(statement.node) if is_class else ()
    return {node.name for node in nodes if isinstance(node, kinds)}


def _traps(statement: Statement) -> Iterable[list[ast.AST]]:
    """The nodes of each part of a statement in which an error may be caught for good."""
    for node in ast.walk(statement.node):
        if isinstance(node, ast.Try | ast.TryStar) and _ends_errors(node):
            yield [each for part in node.body for each in ast.walk(part)]
        elif isinstance(node, ast.With | ast.AsyncWith) and not all(map(_passes, node.items)):
            yield list(ast.walk(node))


def _ends_errors(node: ast.Try | ast.TryStar) -> bool:
    if any(isinstance(each, LEAVES) for part in node.finalbody for each in ast.walk(part)):
        return True
    return any(
        not _other_errors(handler.type)
        and not (
            isinstance(handler.body[-1], ast.Raise)
            and not any(isinstance(each, LEAVES) for each in ast.walk(handler))
        )
        for handler in node.handlers
    )


def _other_errors(kind: ast.expr | None) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind or ast.Name("")]
    # an attribute, such as `numpy.linalg.LinAlgError`, names an error of a library
    return all(
        last_name(each) in OTHER_ERRORS
        or (isinstance(each, ast.Attribute) and not hasattr(builtins, each.attr))
        for each in kinds
    )


def _passes(item: ast.withitem) -> bool:
    call = item.context_expr
    # an own context has its own `try`, or an `__exit__`
    return last_name(call) in CONTEXTS or isinstance(getattr(call, "func", call), ast.Name)


def _hands_on(node: ast.AST) -> bool:
    """Whether a node hands a variable to what may call it."""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Yield | ast.YieldFrom)
    root = node.func
    while isinstance(root, ast.Attribute):
        root = root.value
    known = last_name(root) in CALLS_NOTHING or (
        root is node.func and hasattr(builtins, last_name(root))
    )
    return not known and any(isinstance(each, ast.Name) for each in node.args)


def _swallows(statement: Statement, outside: Iterable[str]) -> bool:
    """Whether by what a statement names, errors of anything may end; `outside` are names of
    libraries.
    """
    words = statement.words | {each.rpartition(".")[2] for each in outside}
    if "suppress" not in words:
        return bool(words & SWALLOW)
    nodes = [each for each in ast.walk(statement.node) if isinstance(each, ast.Call)]
    calls = [call for call in nodes if last_name(call) == "suppress"]
    # without a call it has another name
    return (
        bool(words & SWALLOW)
        or not calls
        or not all(_other_errors(kind) for call in calls for kind in call.args)
    )

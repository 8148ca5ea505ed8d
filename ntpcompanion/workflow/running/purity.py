"""Which calls of argument checks may be left out: those that can only raise, where nobody catches.

When in doubt, a call counts.
"""

import ast
import builtins
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ntpcompanion.workflow.running.modules import Bound, Module
from ntpcompanion.workflow.running.statements import Reference, Statement, last_name

MARK = "argument_check"
Resolve = Callable[[Module, Reference], list[Bound]]
BUILTINS = frozenset(
    "isinstance issubclass len type str int float bool complex repr ascii abs round callable "
    "hasattr getattr range divmod ValueError TypeError NotImplementedError".split()
)
# they go through what they get
THROUGH = frozenset(
    "any all sum min max sorted tuple list set frozenset dict zip enumerate".split()
)
OUTSIDE = frozenset(
    "isfinite isnan isinf isclose allclose ndim shape size asarray array any all abs unique isin "
    "is_masked count_masked issubdtype isreal iscomplexobj index dtype device is_tensor min max "
    "sum diff sign floor log exp sqrt prod arange zeros ones broadcast_shapes".split()
)
METHODS = frozenset(
    "all any min max sum item tolist dim numel size isfinite isnan abs is_floating_point keys "
    "is_complex items values get join partition rpartition strip rstrip lstrip split rsplit "
    "startswith endswith lower upper isidentifier isdigit replace format removeprefix "
    "removesuffix detach cpu astype reshape ravel flatten".split()
)
LIBRARIES = frozenset({"numpy", "torch", "math", "operator", "typing"})
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


def is_simple_call(node: ast.AST) -> bool:
    """Whether a statement only calls a function with names, literals, and attributes or lengths of
    names.
    """
    call = getattr(node, "value", None)
    return isinstance(call, ast.Call) and all(
        isinstance(
            each,
            ast.Name
            | ast.Attribute
            | ast.Constant
            | ast.Tuple
            | ast.List
            | ast.keyword
            | ast.Load
            | ast.UnaryOp
            | ast.BinOp
            | ast.operator
            | ast.unaryop,
        )
        or (isinstance(each, ast.Call) and last_name(each) == "len")
        for part in (*call.args, *call.keywords)
        for each in ast.walk(part)
    )


def is_marked(module: Module, statement: Statement, resolve: Resolve) -> bool:
    """Whether a statement defines a function that `argument_check` alone decorates."""
    node = statement.node
    if not isinstance(node, ast.FunctionDef) or len(node.decorator_list) != 1:
        return False
    roots = {id(node.decorator_list[0])}
    marks = [each for each in statement.references if id(each.nodes[-1]) in roots]
    names = [bound for each in marks for bound in resolve(module, each)]
    return bool(names) and all(
        bound.outside == f"ntpcompanion.{MARK}.{MARK}"
        or (bound.module is not None and bound.module.name == f"ntpcompanion.{MARK}")
        for bound in names
    )


def is_pure(
    module: Module,
    statement: Statement,
    resolve: Resolve,
    properties: frozenset[str] = frozenset(),
    seen: frozenset[int] = frozenset(),
) -> bool:
    """Whether a function only looks at its arguments, and returns or raises.

    `properties` are names of attributes that run code of the book's packages.
    """
    node = statement.node
    if id(statement) in seen:
        return True
    if not isinstance(node, ast.FunctionDef) or (
        statement.deferred and _binds_own(statement, module)
    ):
        return False
    if len(node.decorator_list) > 1 or (
        node.decorator_list and not is_marked(module, statement, resolve)
    ):
        return False
    inside = [each for part in node.body for each in ast.walk(part)]
    if any(map(_changes, inside)) or {each.attr for each in attributes_in(inside)} & properties:
        return False
    answers = any(isinstance(each, ast.Return) and each.value is not None for each in inside)
    if answers and not seen:  # a check has no answer, a function that it asks may have one
        return False
    own = _made_here(node)
    by_node = {id(each.nodes[-1]): each for each in statement.references}
    for each in inside:
        if any(not _may_go_through(one, own) for one in _gone_through(each)):
            return False
        if isinstance(each, ast.Call):
            reference = by_node.get(id(each.func))
            bound = resolve(module, reference) if reference else []
            if not _only_looks(each, reference, bound):
                return False
            for one in bound:
                deeper = seen | {id(statement)}
                if one.statement is not None and not (
                    one.module is not None
                    and is_pure(one.module, one.statement, resolve, properties, deeper)
                ):
                    return False
    return True


def _binds_own(statement: Statement, module: Module) -> bool:
    top = module.name.partition(".")[0]
    return any(module.absolute(each.loads).partition(".")[0] == top for each in statement.deferred)


def _changes(node: ast.AST) -> bool:
    place = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
    return (
        place
        or isinstance(
            node,
            ast.Global
            | ast.Nonlocal
            | ast.Yield
            | ast.YieldFrom
            | ast.Await
            | ast.AugAssign
            | ast.Delete
            | ast.Starred
            | ast.With
            | ast.AsyncWith
            | ast.Lambda
            | ast.FunctionDef
            | ast.AsyncFunctionDef
            | ast.ClassDef,
        )
        or any(
            each.arg in ("out", "where", "inplace", "key") for each in getattr(node, "keywords", [])
        )
    )


def _gone_through(node: ast.AST) -> list[ast.expr]:
    """What a node goes through, element by element."""
    if isinstance(node, ast.For | ast.comprehension):
        return [node.iter]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in THROUGH:
        return list(node.args)
    if isinstance(node, ast.Call) and last_name(node) == "join":
        return list(node.args)
    if isinstance(node, ast.Compare):
        ops = zip(node.ops, node.comparators, strict=True)
        return [each for op, each in ops if isinstance(op, ast.In | ast.NotIn)]
    if isinstance(node, ast.Assign) and any(
        isinstance(t, ast.Tuple | ast.List) for t in node.targets
    ):
        return [node.value]
    return []


def _may_go_through(node: ast.expr, own: frozenset[str]) -> bool:
    """Whether an expression is certainly no iterator that somebody else goes on with."""
    if isinstance(node, ast.Name):
        return node.id in own or node.id.isupper()
    return not isinstance(node, ast.Call) or last_name(node) in OUTSIDE | METHODS | THROUGH | {
        "range",
        "type",
        "str",
    }


def _made_here(function: ast.FunctionDef) -> frozenset[str]:
    """Local names that hold only what the function itself has made."""
    made: dict[str, bool] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            name, value = last_name(node.targets[0]), node.value
            fine = isinstance(value, ast.Call | ast.Tuple | ast.Compare | ast.JoinedStr)
            fine = fine and (not isinstance(value, ast.Call) or _may_go_through(value, frozenset()))
            made[name] = made.get(name, True) and fine
    parameters = {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
    return frozenset(name for name, fine in made.items() if fine) - parameters


def _only_looks(call: ast.Call, reference: Reference | None, bound: list[Bound]) -> bool:
    name = last_name(call)
    if reference is None:  # a method of a local value
        return isinstance(call.func, ast.Attribute) and name in METHODS
    if not bound:
        return len(reference.parts) == 1 and name in BUILTINS | THROUGH
    return all(
        each.statement is not None
        if not each.outside
        else each.outside.partition(".")[0] in LIBRARIES and name in OUTSIDE
        for each in bound
    )


def swallows(statement: Statement, outside: Iterable[str]) -> bool:
    """Whether by what a statement names, errors of anything may end; `outside` are names of
    libraries.
    """
    words = (statement.words - {"suppress"}) | {each.rpartition(".")[2] for each in outside}
    if words - {"suppress"} & SWALLOW or (words & SWALLOW and "suppress" not in statement.words):
        return True
    calls = (each for each in ast.walk(statement.node) if last_name(each) == "suppress")
    return any(
        isinstance(each, ast.Call) and not all(map(_other_errors, each.args)) for each in calls
    )

"""Which calls of argument checks may be left out: those that can be seen only to look at arguments.

When in doubt, a call counts.
"""

import ast
from collections.abc import Iterable, Set

from ntpcompanion.workflow.hashing.bindings import last_name
from ntpcompanion.workflow.hashing.modules import Bound, Module, Packages
from ntpcompanion.workflow.hashing.statements import Statement

MARK = "ntpcompanion.validation"  # the module of the mark
DECORATOR = "ntpcompanion.checks"  # that of the decorator, and of what stands beside annotations
# what checks call: builtins, functions of libraries and methods that change nothing
LOOKS = frozenset(
    "isinstance issubclass len type str int float bool complex repr ascii abs round callable "
    "hasattr getattr range divmod ValueError TypeError NotImplementedError any all sum min max "
    "sorted tuple list set frozenset dict zip enumerate isfinite isnan isinf isclose allclose ndim "
    "shape size asarray array unique isin is_masked count_masked issubdtype isreal iscomplexobj "
    "index dtype device is_tensor diff sign floor log exp sqrt prod arange zeros ones "
    "broadcast_shapes item tolist dim numel is_floating_point keys is_complex items values get "
    "join partition rpartition strip rstrip lstrip split rsplit startswith endswith lower upper "
    "isidentifier isdigit replace format removeprefix removesuffix detach cpu astype reshape ravel "
    "flatten".split()
)
# builtins that go through what they get
THROUGH = frozenset(
    "any all sum min max sorted tuple list set frozenset dict zip enumerate".split()
)
CHANGES = (
    *(ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.AugAssign, ast.Delete),
    *(ast.Starred, ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
)
SIMPLE = (
    *(ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.List, ast.keyword, ast.Load),
    *(ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop),
)


def is_simple_call(node: ast.AST) -> bool:
    """Whether a statement only calls a function with names, literals, and attributes or lengths of
    names.
    """
    call = getattr(node, "value", None)
    return isinstance(call, ast.Call) and all(
        isinstance(each, SIMPLE) or (isinstance(each, ast.Call) and last_name(each) == "len")
        for part in (*call.args, *call.keywords)
        for each in ast.walk(part)
    )


def is_from(place: str, bound: Bound, name: str = "") -> bool:
    """Whether a name leads to a module of ours: to a `name` in it, or to any."""
    if bound.module is not None and bound.module.name == place:
        return bound.name == name or (not name and bound.statement is not None)
    return bound.outside == f"{place}.{name}" if name else bound.outside.startswith(f"{place}.")


def is_marked(packages: Packages, module: Module, statement: Statement) -> bool:
    """Whether a statement defines a function that `argument_check` alone decorates."""
    node = statement.node
    if not isinstance(node, ast.FunctionDef) or len(node.decorator_list) != 1:
        return False
    names = bound_to(packages, module, statement, node.decorator_list[0])
    return bool(names) and all(is_from(MARK, bound, "argument_check") for bound in names)


def only_raises(packages: Packages, module: Module, statement: Statement) -> bool:
    """Whether a marked function has no answer, and does nothing with its arguments but to look, by
    itself and by all functions of its packages that it calls.
    """
    inside = [*ast.walk(statement.node)]
    answers = any(isinstance(each, ast.Return) and each.value is not None for each in inside)
    return (
        is_marked(packages, module, statement)
        and not answers
        and _only_looks(packages, module, statement, inside, {statement})
    )


def only_checks(
    packages: Packages, module: Module, statement: Statement, node: ast.AST, methods: Set[str]
) -> bool:
    """Whether a decorator, or what stands in `Annotated` beside a type, is made of what
    `ntpcompanion.checks` defines, with conditions that can be seen only to look; `methods` are
    names of attributes that may be more than data.
    """
    named = node.slice.elts[1:] if isinstance(node, ast.Subscript) else [node]  # type: ignore[attr-defined]  # a tuple
    inside = [each for part in named for each in ast.walk(part)]

    def is_ours(node: ast.AST) -> bool:
        function = node.func if isinstance(node, ast.Call) else node
        bound = bound_to(packages, module, statement, function)
        return bool(bound) and all(is_from(DECORATOR, each) for each in bound)

    arguments = node.args if isinstance(node, ast.Call) else []
    needs = [each for each in inside if isinstance(each, ast.Call) and last_name(each) == "need"]
    others = [each for each in inside if not (isinstance(each, ast.Call) and is_ours(each))]
    return (
        all(map(is_ours, [*named, *arguments]))
        and all(isinstance([*each.args, None, None][1], ast.Lambda) for each in needs)
        and not {each.attr for each in inside if isinstance(each, ast.Attribute)} & methods
        and _only_looks(packages, module, statement, others)
    )


def _only_looks(
    packages: Packages,
    module: Module,
    statement: Statement,
    nodes: Iterable[ast.AST],
    seen: Set[Statement] = frozenset(),
) -> bool:
    """Whether nodes of a statement change nothing, and call only what LOOKS or, within one that is
    `seen`, functions of the packages that do the same; within such a one also whether they go
    through no iterator that somebody else may go on with.
    """
    local_names = _made_here(statement.node) if seen else None
    for node in nodes:
        if node is not statement.node and _changes(node):
            return False
        if local_names is not None and not all(
            _may_go_through(each, local_names) for each in _gone_through(node)
        ):
            return False
        if not isinstance(node, ast.Call):
            continue
        bound = bound_to(packages, module, statement, node.func)
        ours = [(one.module, one.statement) for one in bound if one.module is not None]
        if not ours and last_name(node) not in LOOKS:
            return False
        for place, called in ours:
            if called in seen:
                continue
            if called is None or not seen or getattr(called.node, "decorator_list", []):
                return False
            if not isinstance(called.node, ast.FunctionDef) or not _only_looks(
                packages, place, called, ast.walk(called.node), {*seen, called}
            ):
                return False
    return True


def _changes(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute | ast.Subscript):
        return not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Call):
        return any(each.arg in ("out", "where", "inplace", "key") for each in node.keywords)
    return isinstance(node, CHANGES)


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
        isinstance(each, ast.Tuple | ast.List) for each in node.targets
    ):
        return [node.value]
    return []


def _may_go_through(node: ast.expr, local_names: Set[str]) -> bool:
    """Whether an expression is certainly no iterator that somebody else goes on with."""
    if isinstance(node, ast.Name):
        return node.id in local_names or node.id.isupper()
    return not isinstance(node, ast.Call) or last_name(node) in LOOKS - {"getattr"}


def _made_here(function: ast.AST) -> Set[str]:
    """Local names that hold only what the function itself has made."""
    made: dict[str, bool] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            name, value = last_name(node.targets[0]), node.value
            fine = isinstance(value, ast.Call | ast.Tuple | ast.Compare | ast.JoinedStr)
            made[name] = made.get(name, True) and fine and _may_go_through(value, set())
    parameters = {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
    return {name for name, fine in made.items() if fine} - parameters


def bound_to(
    packages: Packages, module: Module, statement: Statement, node: ast.AST
) -> list[Bound]:
    """What a node of a statement is bound to, if it is a name of its module or of an import."""
    references = [each for each in statement.references if each.nodes[-1] is node]
    return [bound for each in references for bound in packages.resolve(module, each)]


def stands_for(bound: Bound) -> ast.expr | None:
    """Of a name such as `Size`, which `ntpcompanion.checks` defines as `Annotated[int, ...]`, the
    type; None of another one.
    """
    value = getattr(getattr(bound.statement, "node", None), "value", None)
    if is_from(DECORATOR, bound) and isinstance(value, ast.Subscript):
        if last_name(value.value) == "Annotated" and isinstance(value.slice, ast.Tuple):
            return value.slice.elts[0]
    return None

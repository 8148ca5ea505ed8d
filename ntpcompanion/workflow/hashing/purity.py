"""Which calls of argument checks may be left out: those that can only raise, where nobody catches.

When in doubt, a call counts.
"""

import ast
from collections.abc import Set

from ntpcompanion.workflow.hashing.bindings import last_name
from ntpcompanion.workflow.hashing.modules import Bound, Module, Packages
from ntpcompanion.workflow.hashing.statements import Reference, Statement

MARK = "ntpcompanion.validation"  # the module of the mark
DECORATOR = "ntpcompanion.checks"  # that of the decorator, and of what stands beside annotations
NONE: frozenset[Statement] = frozenset()
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
CHANGES = (
    *(ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.AugAssign, ast.Delete),
    *(ast.Starred, ast.With, ast.AsyncWith, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef),
    ast.ClassDef,
)
SIMPLE = (
    *(ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.List, ast.keyword, ast.Load),
    *(ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop),
)
LIBRARIES = frozenset({"numpy", "torch", "math", "operator", "typing"})


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


def is_marked(packages: Packages, module: Module, statement: Statement) -> bool:
    """Whether a statement defines a function that `argument_check` alone decorates."""
    node = statement.node
    if not isinstance(node, ast.FunctionDef) or len(node.decorator_list) != 1:
        return False
    marks = [each for each in statement.references if each.nodes[-1] is node.decorator_list[0]]
    names = [bound for each in marks for bound in packages.resolve(module, each)]
    return bool(names) and all(is_from(MARK, bound, "argument_check") for bound in names)


def is_from(place: str, bound: Bound, name: str = "") -> bool:
    """Whether a name leads to a module of ours: to a `name` in it, or to any."""
    if bound.module is not None and bound.module.name == place:
        return bound.name == name or (not name and bound.statement is not None)
    return bound.outside == f"{place}.{name}" if name else bound.outside.startswith(f"{place}.")


def only_checks(
    packages: Packages, module: Module, statement: Statement, node: ast.AST, methods: Set[str]
) -> bool:
    """Whether a decorator, or what stands in `Annotated` beside a type, is made of what
    `ntpcompanion.checks` defines, with conditions that can be seen only to look; `methods` are
    names of attributes that may be more than data.
    """
    named = node.slice.elts[1:] if isinstance(node, ast.Subscript) else [node]  # type: ignore[attr-defined]  # a tuple
    inside = [each for part in named for each in ast.walk(part)]
    by_node = {id(each.nodes[-1]): each for each in statement.references}

    def bound_to(node: ast.AST) -> list[Bound]:
        reference = by_node.get(id(node))
        return packages.resolve(module, reference) if reference else []

    def is_ours(node: ast.AST) -> bool:
        bound = bound_to(node.func if isinstance(node, ast.Call) else node)
        return bool(bound) and all(is_from(DECORATOR, each) for each in bound)

    if isinstance(node, ast.Subscript):
        ours = named
    else:
        ours = [node, *(node.args if isinstance(node, ast.Call) else [])]
    needs = [each for each in inside if isinstance(each, ast.Call) and last_name(each) == "need"]
    return (
        all(map(is_ours, ours))
        and all(isinstance([*each.args, None, None][1], ast.Lambda) for each in needs)
        and not any(_changes(each) for each in inside if not isinstance(each, ast.Lambda))
        and not {each.attr for each in inside if isinstance(each, ast.Attribute)} & methods
        and all(
            is_ours(each)
            or (
                _only_looks(each, by_node.get(id(each.func)), bound := bound_to(each.func))
                and not any(one.statement for one in bound)
            )
            for each in inside
            if isinstance(each, ast.Call)
        )
    )


def stands_for(bound: Bound) -> ast.expr | None:
    """Of a name such as `Size`, which `ntpcompanion.checks` defines as `Annotated[int, ...]`, the
    type; None of another one.
    """
    value = getattr(getattr(bound.statement, "node", None), "value", None)
    if is_from(DECORATOR, bound) and isinstance(value, ast.Subscript):
        if last_name(value.value) == "Annotated" and isinstance(value.slice, ast.Tuple):
            return value.slice.elts[0]
    return None


def looked_at(
    packages: Packages, module: Module, statement: Statement, seen: frozenset[Statement] = NONE
) -> frozenset[str] | None:
    """The names of all attributes that a function looks at; None if it may do more than to look at
    its arguments and raise, or if it has an answer. A function that it calls may have one.
    """
    if statement in seen:
        return frozenset()
    if seen or statement not in packages.looked_at:
        names = _looked_at(packages, module, statement, seen)
        if seen:
            return names
        packages.looked_at[statement] = names
    return packages.looked_at[statement]


def _looked_at(
    packages: Packages, module: Module, statement: Statement, seen: frozenset[Statement]
) -> frozenset[str] | None:
    node = statement.node
    if not isinstance(node, ast.FunctionDef) or _binds_own(statement, module):
        return None
    if node.decorator_list and not is_marked(packages, module, statement):
        return None
    inside = [each for part in node.body for each in ast.walk(part)]
    answers = any(isinstance(each, ast.Return) and each.value is not None for each in inside)
    if any(map(_changes, inside)) or (answers and not seen):
        return None
    local_names = _made_here(node)
    if not all(_may_go_through(one, local_names) for each in inside for one in _gone_through(each)):
        return None
    names = {each.attr for each in inside if isinstance(each, ast.Attribute)}
    by_node = {id(each.nodes[-1]): each for each in statement.references}
    for call in (each for each in inside if isinstance(each, ast.Call)):
        reference = by_node.get(id(call.func))
        bound = packages.resolve(module, reference) if reference else []
        if not _only_looks(call, reference, bound):
            return None
        for one in bound:
            if one.statement is not None and one.module is not None:
                below = looked_at(packages, one.module, one.statement, seen | {statement})
                if below is None:
                    return None
                names |= below
    return frozenset(names)


def _binds_own(statement: Statement, module: Module) -> bool:
    top = module.name.partition(".")[0]
    return any(module.absolute(each.loads).partition(".")[0] == top for each in statement.deferred)


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
        isinstance(t, ast.Tuple | ast.List) for t in node.targets
    ):
        return [node.value]
    return []


def _may_go_through(node: ast.expr, local_names: frozenset[str]) -> bool:
    """Whether an expression is certainly no iterator that somebody else goes on with."""
    if isinstance(node, ast.Name):
        return node.id in local_names or node.id.isupper()
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

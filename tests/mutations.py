"""Small changes of Python code that a good test notices: each of them one mutant."""

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

NEGATED = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SHIFTED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
PAIRS = [("min", "max"), ("any", "all"), ("argmin", "argmax"), ("minimum", "maximum")]
NAMES = dict(PAIRS) | {b: a for a, b in PAIRS}


@dataclass(frozen=True)
class Mutant:
    """One change of one file, whose changed text is `source`. `key` names it by function and text,
    so that it does not move with lines.
    """

    file: str
    line: int
    key: str
    source: str


def mutants(file: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a file: compared, calculated, combined or counted otherwise, a condition
    turned, a statement left out.

    Left as they are: texts, annotations, the words of errors, `strict=` of zip (an assertion), and
    integers that are named at the top of a module or are the default of a parameter (budgets: the
    answer does not depend on them). Tolerances do change.
    """
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    data, lines, seen = source.encode(), source.splitlines(), Counter()
    tree = ast.parse(source)
    conditions = {
        node.test for node in ast.walk(tree) if isinstance(node, (ast.If, ast.While, ast.IfExp))
    }
    budgets = _budgets(tree)
    for node, function in _nodes(tree):
        if node in budgets:
            continue
        for changed in _changes(node, condition=node in conditions):
            begin, end = (
                starts[node.lineno - 1] + node.col_offset,
                starts[node.end_lineno - 1] + node.end_col_offset,
            )
            before = re.sub(r"\s+", " ", data[begin:end].decode())
            text = ast.unparse(changed)
            # brackets keep the meaning where the old text had its own, or needed none
            after = (
                f"({text})"
                if isinstance(changed, ast.expr)
                and not isinstance(changed, (ast.Constant, ast.Name, ast.Attribute))
                else text
            )
            line = lines[node.lineno - 1].partition("  #")[0].strip()
            where = "" if node.end_lineno == node.lineno and line == before else f" in `{line}`"
            key = f"{file} {function}: `{before}` → `{text}`{where}"
            seen[key] += 1
            key += f" ({seen[key]})" if seen[key] > 1 else ""
            yield Mutant(
                file, node.lineno, key, (data[:begin] + after.encode() + data[end:]).decode()
            )


def _budgets(tree: ast.Module) -> set[ast.AST]:
    """The integers at the top of the module and in defaults, and the value of `strict`."""
    places = [statement.value for statement in tree.body if isinstance(statement, ast.Assign)]
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            places += [default for default in (*node.defaults, *node.kw_defaults) if default]
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            places.append(node.value)
    nodes = [node for place in places for node in ast.walk(place)]
    return {
        node for node in nodes if isinstance(node, (ast.Constant, ast.BinOp)) and _is_integer(node)
    }


def _is_integer(node: ast.expr) -> bool:
    """Whether a node is a written integer or boolean, or calculated from such."""
    if isinstance(node, ast.BinOp):
        return _is_integer(node.left) and _is_integer(node.right)
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """The nodes that may change, with the function they stand in."""

    def walk(node: ast.AST, function: str) -> Iterator[tuple[ast.AST, str]]:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list") or (
                isinstance(node, ast.Raise) and name == "exc"
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                # positions inside an f-string are wrong before Python 3.12
                if isinstance(child, ast.AST) and not isinstance(
                    child, (ast.JoinedStr, ast.expr_context)
                ):
                    inner = (
                        child.name if isinstance(child, (ast.FunctionDef, ast.ClassDef)) else None
                    )
                    if hasattr(child, "lineno"):
                        yield child, function
                    yield from walk(child, f"{function}.{inner}".lstrip(".") if inner else function)

    yield from walk(tree, "")


def _changes(node: ast.AST, *, condition: bool) -> Iterator[ast.AST]:
    match node:
        case ast.Name() | ast.Call() | ast.Attribute() if condition:
            yield ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                # whether a bound belongs to its side can be told between integers only
                sides = [node.left, *node.comparators][index : index + 2]
                counts = any(
                    isinstance(side, ast.Constant) and type(side.value) is int for side in sides
                )
                for table in (
                    (NEGATED, SHIFTED) if counts and type(operator) in SHIFTED else (NEGATED,)
                ):
                    yield _with(
                        node,
                        ops=[*node.ops[:index], table[type(operator)](), *node.ops[index + 1 :]],
                    )
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            yield _with(node, op=ARITHMETIC[type(node.op)]())
        case ast.BoolOp():
            yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(node.value + 1)
        case ast.Name() if node.id in NAMES:
            yield _with(node, id=NAMES[node.id])
        case ast.Attribute() if node.attr in NAMES:
            yield _with(node, attr=NAMES[node.attr])
        case (
            ast.Expr(value=ast.Call())
            | ast.Raise()
            | ast.AugAssign()
            | ast.Continue()
            | ast.Break()
        ):
            yield ast.Pass()
        case ast.Return(value=ast.expr()) if not (
            isinstance(node.value, ast.Constant) and node.value.value is None
        ):
            yield ast.Return(ast.Constant(None))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed

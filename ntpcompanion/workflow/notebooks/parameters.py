"""The parameters of a notebook: read from its cell tagged `parameters`, checked strictly, never
guessed. The values that a parameter may take are written as mathematicians do, behind two spaces at
the end of its comment: `[1, inf)` or `{fast, exact}`; with `FILE` among the words, any text may be
the path of a file.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from unicodedata import normalize

from ntpcompanion.spelling import nearest
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import as_json

# what `ast.literal_eval` may raise
NO_LITERAL = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)
FILE = "FILE"  # the word that stands for the path of any file
# braces, or a pair that begins with a number; other brackets are prose
_MEANT = re.compile(
    r"(?:^|  )(\{[^{}]*\}|[\[(]\s*(?:[-+.\d∞]|inf\b)[^\[\](){}]*[,;][^\[\](){}]*[\])])$"
)
_INTERVAL = re.compile(r"[\[(]\s*(\S+)\s*,\s*(\S+?)\s*[\])]")


@dataclass(frozen=True)
class Domain:
    """An interval or a set of words or numbers; `text` is how it was written, and its brackets say
    which ends belong to it.
    """

    text: str
    low: float = float("-inf")
    high: float = float("inf")
    words: tuple[str, ...] = ()

    def __contains__(self, value: object) -> bool:
        if self.words or not isinstance(value, (int, float)):
            return str(value) in self.words or (FILE in self.words and isinstance(value, str))
        above = value > self.low if self.text.startswith("(") else value >= self.low
        return above and (value < self.high if self.text.endswith(")") else value <= self.high)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Parameter:
    """One assignment `name = default  # meaning  [low, high)` of the parameters cell; `domain` is
    None where any value will do.
    """

    name: str
    default: object
    meaning: str
    domain: Domain | None = None

    def names_file(self, value: object) -> bool:
        """Whether an input of this value is a file, or a module: not if the domain lists it as a
        word.
        """
        return self.domain is None or value not in self.domain.words


def parse_parameters(source: str, where: str) -> dict[str, Parameter]:
    """The parameters assigned in a cell, in order."""
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        raise WorkflowError(
            f"{where}: the parameters cell is not Python ({error.msg}: "
            f"`{(error.text or '').strip()}`)."
        ) from error
    comments = _trailing_comments(source)
    parameters = [_parameter(statement, comments, where) for statement in statements]
    by_name = {parameter.name: parameter for parameter in parameters}
    if len(by_name) < len(parameters):
        (name, _), *_ = Counter(parameter.name for parameter in parameters).most_common(1)
        raise WorkflowError(f"{where}: the parameters cell assigns `{name}` twice. Do it once.")
    if "seed" not in by_name:
        raise WorkflowError(
            f"{where}: the parameters cell has no `seed`. Every notebook takes one, even if it "
            "draws nothing."
        )
    return by_name


def _parameter(statement: ast.stmt, comments: Mapping[int, str], where: str) -> Parameter:
    name, value = _assignment(statement, where)
    try:
        default = ast.literal_eval(value)
    except NO_LITERAL as error:
        raise WorkflowError(
            f"{where}: the default of parameter `{name}` must be a literal, got "
            f"`{ast.unparse(value)}`."
        ) from error
    if _has_tuple(default):
        raise WorkflowError(
            f"{where}: the default of parameter `{name}` holds a tuple, {ast.unparse(value)}: "
            "profiles and results hold lists only. Write a list in brackets; where the code needs "
            f"a tuple, `tuple({name})`."
        )
    annotation = getattr(statement, "annotation", None)
    default = _with_floats(default, ast.unparse(annotation).strip("'\"") if annotation else "")
    comment = comments.get(statement.end_lineno or statement.lineno, "")
    domain = parse_domain(comment, f"{where}: parameter `{name}`")
    return Parameter(name, default, comment, domain)


def _has_tuple(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_tuple, [*value, *value.values()]))
    return isinstance(value, tuple) or (isinstance(value, list) and any(map(_has_tuple, value)))


def _with_floats(default: object, annotation: str) -> object:
    """The default, in which whole numbers are floats where they stand beside floats in a list, or
    where the annotation says so.
    """
    if isinstance(default, list) and (annotation == "list[float]" or float in map(type, default)):
        return [_as_float(item) for item in default]
    return _as_float(default) if annotation == "float" else default


def _inside(value: object, domain: Domain) -> bool:
    items = value if isinstance(value, list) else [value]
    return value is None or all(item in domain for item in items)


def resolve(
    parameters: Mapping[str, Parameter], overrides: Mapping[str, object], where: str
) -> dict[str, object]:
    """Defaults overlaid with `overrides`, each checked against the type of its default and the
    domain its comment ends in.

    A whole number that is given for a float, or in a list of floats, is that float: 1000 and 1000.0
    are one value, one variant of a run and one key. No other two types are equal: 1.0 is rejected
    where the default is 1, because 1.0 is not an index or a count in Python.
    """
    overrides = {lookup(parameters, name, where).name: value for name, value in overrides.items()}
    values = {
        name: _typed(parameter, overrides.get(name, parameter.default), where)
        for name, parameter in parameters.items()
    }
    for name, value in values.items():
        domain = parameters[name].domain
        if domain and not _inside(value, domain):
            meaning = parameters[name].meaning.removesuffix(str(domain)).strip()
            raise WorkflowError(
                f"{where}: parameter `{name}` must be in {domain}, got {value!r}. Meaning: "
                f"{meaning or 'not given'}."
            )
    return values


def lookup(parameters: Mapping[str, Parameter], name: str, where: str) -> Parameter:
    """The parameter of that name, which Python spells in one way: `µ` (micro sign) is the Greek
    letter.
    """
    name = normalize("NFKC", name)
    if name not in parameters:
        known = "\n".join(f"  {p.name} = {p.default!r}   {p.meaning}" for p in parameters.values())
        raise WorkflowError(
            f"{where} has no parameter {name!r}.{nearest(name, parameters)} Known parameters and "
            f"defaults:\n{known}"
        )
    return parameters[name]


def parse_value(parameter: Parameter, text: str, where: str) -> object:
    """A value from the command line, read by the type of the default: text stays text, the rest is
    a Python literal. Where the default is None, what is not a literal is text.
    """
    if isinstance(parameter.default, str):
        return text
    try:
        return literal(text)
    except NO_LITERAL:
        if parameter.default is None:
            return text
        raise _wrong_type(parameter, text, where) from None


def literal(text: str) -> object:
    """What a text of the command line stands for: a literal of Python, with lists for tuples, or a
    word for true, false and none. Raises one of NO_LITERAL.
    """
    words = {"true": True, "false": False, "none": None}
    value = words[text.lower()] if text.lower() in words else ast.literal_eval(text)
    return list(value) if isinstance(value, tuple) else value


def _typed(parameter: Parameter, raw: object, where: str) -> object:
    default, value = parameter.default, raw
    if isinstance(default, float):
        value = _as_float(raw)
    elif isinstance(default, list) and isinstance(raw, list) and default:
        kinds = set(map(type, default))
        value = [_as_float(item) for item in raw] if float in kinds else raw
        if not kinds.issuperset(map(type, value)):
            raise _wrong_type(parameter, raw, where)
    if default is not None and type(value) is not type(default):
        raise _wrong_type(parameter, raw, where)
    if not _storable(value):
        raise WorkflowError(
            f"{where}: parameter `{parameter.name}` must be a finite number, a text, a truth "
            f"value, none, or a list of these, got {raw!r}."
        )
    return value


def _as_float(value: object) -> object:
    try:
        return float(value) if type(value) is int else value
    except OverflowError:
        return value


def _storable(value: object) -> bool:
    """Whether a results file would give back this very value."""
    try:
        return as_json(value) == value
    except ValueError:
        return False


def _wrong_type(parameter: Parameter, value: object, where: str) -> WorkflowError:
    kind = type(parameter.default).__name__
    if isinstance(parameter.default, list) and parameter.default:
        kinds = dict.fromkeys(type(item).__name__ for item in parameter.default)
        kind = f"list of {' or '.join(kinds)}"
    return WorkflowError(
        f"{where}: parameter `{parameter.name}` must be of type {kind}, like "
        f"{parameter.default!r}, got {value!r}."
    )


def _assignment(statement: ast.stmt, where: str) -> tuple[str, ast.expr]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return name, value
    raise WorkflowError(
        f"{where}: line {statement.lineno} of the parameters cell must assign a literal to one "
        "name, like `seed = 0`."
    )


def _trailing_comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]: token.string.lstrip("# ").strip()
        for token in tokens
        if token.type == tokenize.COMMENT
    }


def parse_domain(comment: str, where: str) -> Domain | None:
    """The domain that a comment ends in, or None."""
    if not (meant := _MEANT.search(comment)):
        return None
    text = meant[1]
    if text.startswith("{"):
        words = tuple(word.strip() for word in text[1:-1].split(","))
        if all(words):
            return Domain(text, words=words)
    elif interval := _INTERVAL.fullmatch(text):
        try:
            low, high = map(float, interval.groups())
        except ValueError:
            low = high = 0.0  # no numbers
        if low < high:
            return Domain(text, low, high)
    raise WorkflowError(
        f"{where}: its comment ends in {text!r}, which is not a domain. Write an interval like [1, "
        f"inf) or words like {{fast, exact}}; if it is prose, end it with a full stop."
    )

"""What an API page says of an experiment beside its docstring: the fields of its plan, and what its
result offers, with types, ranges and their own descriptions; also of the models that are parts of
them. The docstring of a plan says which values go together.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from itertools import chain
from typing import Any, get_args

from pydantic import BaseModel
from sphinx.util.rst import escape
from sphinx.util.typing import stringify_annotation

_INHERITED = {*dir(BaseModel), "to_json", "from_json"}
_CODE = re.compile(r"`+([^`]+)`+")
# in the text of a type: where a name comes from, and the marks of a part of it
_PREFIX = re.compile(r"~|\b(?:[a-zA-Z_]\w*\.)+")
_MARKED = re.compile(r"Annotated\[([\w |]+), \w+\(.*?\)(?:\]\))?\]")
SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


def add_fields(
    app: Any, kind: str, name: str, function: Any, options: Any, lines: list[str]
) -> None:
    """Add two lists that open to the documentation of a function `run` whose module has a `Plan`
    and a `Result` of pydantic: a listener of Sphinx's `autodoc-process-docstring`.
    """
    module = sys.modules.get(getattr(function, "__module__", ""))
    for title, model in (("Fields of the plan", "Plan"), ("What the result offers", "Result")):
        described = getattr(module, model, None)
        if kind != "function" or not name.endswith(".run"):
            continue
        if isinstance(described, type) and issubclass(described, BaseModel):
            about = _as_rst(inspect.getdoc(described) or "")
            rows = [f"   - ``{entry}``: {_as_rst(text)}" for entry, text in _entries(described)]
            for part in dict.fromkeys(_parts(described)):
                entries = [(entry, text.rstrip(".")) for entry, text in _entries(part)]
                offered = [f"{entry} ({text})" if text else entry for entry, text in entries]
                rows.append(f"   - ``{part.__name__}``: {_as_rst(', '.join(offered))}")
            lines += ["", f".. dropdown:: {title}", "", f"   {about}", "", *rows, ""]


def _entries(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Names and descriptions of fields, and of public properties and methods that pydantic does not
    bring along.
    """
    for name, field in model.model_fields.items():
        default = [] if field.is_required() else [f"by default {field.default!r}"]
        texts = [*filter(None, [field.description]), *default]
        marks = [getattr(inner, "__metadata__", ()) for inner in get_args(field.annotation)]
        each = _range([limit for mark in chain(*marks) for limit in getattr(mark, "metadata", ())])
        limits = _range(field.metadata) + (f", each{each}" if each else "")
        yield f"{name}: {_type(field.annotation)}{limits}", "; ".join(texts)
    for name, member in inspect.getmembers_static(model):
        function = member.fget if isinstance(member, property) else member
        if inspect.isfunction(function) and not name.startswith("_") and name not in _INHERITED:
            signature = inspect.signature(function)
            arguments = f"({', '.join([*signature.parameters][1:])})"
            called = name if isinstance(member, property) else name + arguments
            if (returned := signature.return_annotation) is not signature.empty:
                called += f": {_type(returned)}"
            yield called, (inspect.getdoc(function) or "").split("\n\n")[0]


def _parts(annotated: Any) -> Iterator[type[BaseModel]]:
    """The models that the fields of a model hold, and those that these hold."""
    inner = list(get_args(annotated))
    if isinstance(annotated, type) and issubclass(annotated, BaseModel):
        inner = [field.annotation for field in annotated.model_fields.values()]
    for each in inner:
        if isinstance(each, type) and issubclass(each, BaseModel):
            yield each
        yield from _parts(each)


def _type(annotation: Any) -> str:
    return _MARKED.sub(r"\1", _PREFIX.sub("", stringify_annotation(annotation, "smart")))


def _range(limits: list[Any]) -> str:
    """Bounds such as ` >= 1`."""
    return "".join(
        f" {sign} {getattr(limit, name):g}"
        for limit in limits
        for name, sign in SIGNS.items()
        if getattr(limit, name, None) is not None
    )


def _as_rst(text: str) -> str:
    """Plain text with `code` in backticks as reStructuredText on one line."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(f"``{part}``" if i % 2 else escape(part) for i, part in enumerate(parts))

"""What an API page says of an experiment beside its docstring: the fields of its plan, and what its
result offers, with types, ranges and their own descriptions.
"""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeGuard, get_args, get_origin

from pydantic import BaseModel
from sphinx.util.rst import escape

_INHERITED = {*dir(BaseModel), "to_json", "from_json"}
_CODE = re.compile(r"`+([^`]+)`+")


def add_fields(
    app: Any, kind: str, name: str, function: Any, options: Any, lines: list[str]
) -> None:
    """Add two lists that open to the documentation of a function `run` whose module has a `Plan`
    and a `Result` of pydantic: a listener of Sphinx's `autodoc-process-docstring`.
    """
    module = sys.modules.get(getattr(function, "__module__", ""))
    for title, model in (("Fields of the plan", "Plan"), ("What the result offers", "Result")):
        described = getattr(module, model, None)
        if kind == "function" and name.endswith(".run") and _is_model(described):
            rows = [f"   - ``{entry}``: {_as_rst(text)}" for entry, text in _entries(described)]
            lines += ["", f".. dropdown:: {title}", "", *rows, ""]


def _is_model(described: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(described, type) and issubclass(described, BaseModel)


def _entries(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Names and descriptions of fields, and of public properties and methods that pydantic does not
    bring along.
    """
    for name, field in model.model_fields.items():
        parts = filter(_is_model, get_args(field.annotation))
        texts = (
            [field.description] if field.description else [f"of each {_names(x)}" for x in parts]
        )
        default = [] if field.is_required() else [f"by default {field.default!r}"]
        kind = _type(field.annotation) + _range(field.metadata)
        yield f"{name}: {kind}", "; ".join(texts + default)
    for name, member in inspect.getmembers_static(model):
        function = member.fget if isinstance(member, property) else member
        if inspect.isfunction(function) and not name.startswith("_") and name not in _INHERITED:
            signature = inspect.signature(function)
            arguments = f"({', '.join([*signature.parameters][1:])})"
            called = name if isinstance(member, property) else name + arguments
            result = "" if signature.return_annotation is inspect.Signature.empty else " -> "
            result += _type(signature.return_annotation) if result else ""
            yield called + result, (inspect.getdoc(function) or "").split("\n\n")[0]


def _type(annotation: Any) -> str:
    """A type as a reader writes it, with the ranges of its parts."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(parts[0]) + _range(parts[1:])
    if origin is Literal:
        return " | ".join(map(repr, parts))
    if annotation in (None, NoneType, ...):
        return "..." if annotation is ... else "None"
    if origin is UnionType or (parts and not isinstance(origin, type)):
        return " | ".join(map(_type, parts))
    if parts:
        return f"{origin.__name__}[{', '.join(map(_type, parts))}]"
    if fields := getattr(annotation, "__dataclass_fields__", None):
        return f"{annotation.__name__}({', '.join(fields)})"
    return getattr(annotation, "__name__", str(annotation))


def _range(metadata: Iterable[Any]) -> str:
    """Bounds such as ` >= 1`; what pydantic keeps in a field is unpacked."""
    limits = [each for one in metadata for each in getattr(one, "metadata", [one])]
    signs = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
    return "".join(
        f" {sign} {getattr(limit, name):g}"
        for limit in limits
        for name, sign in signs.items()
        if getattr(limit, name, None) is not None
    )


def _names(model: type[BaseModel]) -> str:
    return ", ".join(f"`{name}`" for name in model.model_fields)


def _as_rst(text: str) -> str:
    """Plain text with `code` in backticks as reStructuredText on one line."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(f"``{part}``" if i % 2 else escape(part) for i, part in enumerate(parts))

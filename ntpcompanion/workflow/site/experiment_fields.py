"""What an API page says of an experiment beside its docstring: the fields of its plan, and what its
result offers, from their own descriptions.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any, TypeGuard, get_args

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
        yield (
            name,
            "; ".join(texts + ([] if field.is_required() else [f"by default {field.default!r}"])),
        )
    for name, member in inspect.getmembers_static(model):
        function = member.fget if isinstance(member, property) else member
        if inspect.isfunction(function) and not name.startswith("_") and name not in _INHERITED:
            arguments = f"({', '.join([*inspect.signature(function).parameters][1:])})"
            called = name if isinstance(member, property) else name + arguments
            yield called, (inspect.getdoc(function) or "").split("\n\n")[0]


def _names(model: type[BaseModel]) -> str:
    return ", ".join(f"`{name}`" for name in model.model_fields)


def _as_rst(text: str) -> str:
    """Plain text with `code` in backticks as reStructuredText on one line."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(f"``{part}``" if i % 2 else escape(part) for i, part in enumerate(parts))

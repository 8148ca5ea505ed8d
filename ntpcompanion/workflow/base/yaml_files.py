"""YAML read strictly, and data checked against a type: what a plain reader drops, repeats or turns
into something else without a word is rejected.
"""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import read_text

SHOWN = 60  # characters of a value that does not fit
DEEPEST = 100  # mappings and lists inside of each other
# dates, and keys that are taken from elsewhere
NOT_JSON = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:merge"}
NUMBERS = {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}

# the parser in C, where PyYAML has been built with it, is ten times as quick
if TYPE_CHECKING:
    _Loader = yaml.SafeLoader
else:
    _Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> object:
    """The content of a YAML file, as `parse_yaml` reads it; None for an empty one."""
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, where: str) -> object:
    """The mapping, list, text, number, truth value or None that a YAML text describes.

    Raises WorkflowError, which begins with `where`, for text that is not YAML, a key that is
    written twice in one mapping (a plain reader keeps the last one silently), an anchor used as a
    value (a few of them, nested, stand for millions of values), a tag, and nesting too deep to be
    read. A date is a text, as in JSON, and so are numbers that a plain reader counts in another
    base than ten: `010` and `1:30`.
    """
    try:
        _refuse_what_json_has_not(text, where)
        return yaml.load(text, Loader=_Strict)
    # beside its own, YAML raises what `int` and `float` raise, for a number of thousands of digits
    except (yaml.YAMLError, ValueError) as error:
        raise WorkflowError(f"{where} cannot be read: {error}") from error


def _plain(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """The pattern of numbers without those that begin with an idle 0 or count sixties."""
    return re.compile(r"(?![-+]?0[0-9_])(?!.*:)" + pattern.pattern, pattern.flags)


def _refuse_what_json_has_not(text: str, where: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        mark: Any = event.start_mark  # of the parser in C, or of the one in Python
        if isinstance(event, yaml.AliasEvent):
            problem = f"the alias *{event.anchor}: write the value out"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
        if tag := getattr(event, "tag", None):
            problem = f"the tag {tag}: write the value without it"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
            event, yaml.CollectionEndEvent
        )
        if depth > DEEPEST:  # whoever builds it would call itself as often
            raise WorkflowError(f"{where} cannot be read: it is nested too deeply.")


class _Strict(_Loader):
    yaml_implicit_resolvers = {  # noqa: RUF012  # of the class, as PyYAML has it
        first: [
            (tag, _plain(pattern) if tag in NUMBERS else pattern)
            for tag, pattern in resolvers
            if tag not in NOT_JSON
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        made: dict[object, object] = super().construct_mapping(node, deep)
        first: dict[object, yaml.Node] = {}
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in first:
                problem = (
                    f"the key {key!r} is written twice, first",
                    first[key].start_mark,
                    "and again",
                    key_node.start_mark,
                )
                raise yaml.MarkedYAMLError(*problem)
            first[key] = key_node
        return made


def validate(data: object, shape: Any, where: str) -> Any:
    """`data` of a YAML or JSON reader as a value of the type `shape` or pydantic model; a text is
    never taken for a number, nor a number for a text.
    """
    try:
        return TypeAdapter(shape).validate_python(data, strict=True)
    except ValidationError as error:
        faults = [_fault(fault) for fault in error.errors()]
    raise WorkflowError(f"{where}: " + "; ".join(faults) + ".")


def read_optional(path: Path, shape: Any) -> Any:
    """The content of a YAML file as a value of the type `shape`; None where there is no file or
    nothing in it.
    """
    content = read_yaml(path) if os.path.lexists(path) else None
    return None if content is None else validate(content, shape, str(path))


def _fault(fault: ErrorDetails) -> str:
    place = ".".join(map(str, fault["loc"]))
    received = repr(fault["input"])
    shown = received if len(received) <= SHOWN else f"{received[:SHOWN]}…"
    return f"{place + ': ' if place else ''}{fault['msg']}, got {shown}"

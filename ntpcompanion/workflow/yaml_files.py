"""YAML that is read strictly: what a plain reader drops, repeats or turns into something else without a word is refused."""

from pathlib import Path

import yaml

from ntpcompanion.workflow.errors import WorkflowError

NOT_JSON = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:merge"}  # dates, and keys that are taken from elsewhere


def read_yaml(path: Path) -> object:
    """The content of a YAML file, as `parse_yaml` reads it; None for an empty one.

    Raises WorkflowError if the file cannot be read, or holds what `parse_yaml` refuses.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: bytes that are not UTF-8
        raise WorkflowError(f"{path} cannot be read: {error}. It must be a text in UTF-8 that you may read.") from error
    return parse_yaml(text, str(path))


def parse_yaml(text: str, where: str) -> object:
    """The mapping, list, text, number, truth value or None that a YAML text describes.

    Raises WorkflowError, which begins with `where`, for text that is not YAML, a key that is written twice in one mapping (a plain
    reader keeps the last one silently), an anchor used as a value (a few of them, nested, stand for millions of values), and nesting
    too deep to be read. A date is a text, as in JSON.
    """
    try:
        return yaml.load(text, Loader=_Strict)
    except RecursionError as error:
        raise WorkflowError(f"{where} cannot be read: it is nested too deeply.") from error
    except Exception as error:  # beside its own, YAML raises what `int`, `float` and others raise for a value with an explicit tag
        raise WorkflowError(f"{where} cannot be read: {error}") from error


class _Strict(yaml.SafeLoader):
    yaml_implicit_resolvers = {  # noqa: RUF012  # of the class, as PyYAML has it
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in NOT_JSON]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: object) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.MarkedYAMLError(None, None, f"the alias *{event.anchor}: write the value out", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict:
        made = super().construct_mapping(node, deep)
        first: dict[object, yaml.Node] = {}
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in first:
                said = f"the key {key!r} is written twice, first", first[key].start_mark, "and again", key_node.start_mark
                raise yaml.MarkedYAMLError(*said)
            first[key] = key_node
        return made

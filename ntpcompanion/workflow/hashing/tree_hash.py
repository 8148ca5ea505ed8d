"""The hash of a syntax tree in which names stand for the definitions that they are bound to."""

import ast
import json
from collections.abc import Mapping, Set
from types import MappingProxyType

from ntpcompanion.workflow.base.files import sha256


def tree_hash(
    tree: ast.AST,
    labels: Mapping[int, str],
    left_out: Set[int],
    replaced: Mapping[int, ast.AST] = MappingProxyType({}),
) -> str:
    """SHA-256 of a syntax tree, equal for all versions of Python that have the same syntax.

    Comments, line breaks, quotation marks and the splitting of long texts do not count.

    Parameters
    ----------
    labels
        what stands for a node, by its id.
    left_out
        ids of nodes that do not count.
    replaced
        what counts in the place of a node, by its id.
    """
    return sha256(json.dumps(_plain(tree, labels, left_out, replaced)))


def _plain(
    node: object,
    labels: Mapping[int, str],
    left_out: Set[int],
    replaced: Mapping[int, ast.AST],
) -> object:
    """A tree as lists and texts. Empty fields are left out: later versions of Python add some."""
    if isinstance(node, list):
        counted = [each for each in node if id(each) not in left_out]
        return [_plain(each, labels, left_out, replaced) for each in counted]
    if isinstance(node, ast.Constant):
        return ["Constant", ascii(node.value)]
    if not isinstance(node, ast.AST):
        return ascii(node)
    if id(node) in replaced:
        return _plain(replaced[id(node)], labels, left_out, replaced)
    if id(node) in labels:
        return ["Name", labels[id(node)]]
    fields = {
        name: _plain(value, labels, left_out, replaced)
        for name, value in ast.iter_fields(node)
        if value not in (None, []) and name not in ("ctx", "simple") and id(value) not in left_out
    }
    if isinstance(node, ast.Module):
        return [type(node).__name__, fields]
    return [type(node).__name__, {name: value for name, value in fields.items() if value != []}]

"""Checks of parameters by functions of the package, before a kernel starts.

The front matter of a notebook lists calls, `ntp: {checks: ["package.module.function(size=dim)"]}`.
Each argument is given by name, and is a parameter of the notebook or a literal. The function raises
an error whose message names its arguments in backticks; it returns sentences for the user, or None.
"""

import ast
import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ntpcompanion.spelling import nearest
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json


@dataclass(frozen=True)
class Check:
    """A call of `function` of `module`. `parameters` are the notebook's names of its arguments;
    `literals` are the values of the others.
    """

    module: str
    function: str
    parameters: Mapping[str, str]
    literals: Mapping[str, object]

    def __str__(self) -> str:
        return f"{self.module}.{self.function}"


def parse_check(text: str, known: Mapping[str, object], where: str) -> Check:
    """A call that is written in the front matter. Raises WorkflowError for what is not such a call,
    and for a name that is not one of the `known` parameters.
    """
    parameters, literals = dict[str, str](), dict[str, object]()
    try:
        match ast.parse(text.strip(), mode="eval").body:
            case ast.Call(func=ast.Attribute() as called, args=[], keywords=keywords):
                module, _, function = ast.unparse(called).rpartition(".")
            case _:
                raise ValueError
        for keyword in keywords:
            if isinstance(keyword.value, ast.Name) and keyword.arg:
                parameters[keyword.arg] = keyword.value.id
            elif keyword.arg:
                literals[keyword.arg] = ast.literal_eval(keyword.value)
            else:
                raise ValueError
    except (SyntaxError, ValueError):
        raise WorkflowError(
            f"{where}: the check {text.strip()!r} in the front matter is not a call like "
            "`package.module.function(argument=parameter)`, with every argument by name."
        ) from None
    for name in parameters.values():
        if name not in known:
            raise WorkflowError(
                f"{where}: the check {module}.{function} is given {name!r}, which is not a "
                f"parameter.{nearest(name, known)}"
            )
    return Check(module, function, parameters, literals)


def run_checks(
    checks: Sequence[Check], variants: Sequence[Mapping[str, object]], where: str
) -> list[str]:
    """What the functions say of every variant of the parameters, under the notebook's own names.

    Of variants that differ in other parameters only, one is checked. Raises WorkflowError where a
    function rejects one, cannot be imported, or takes no such arguments.
    """
    sentences = dict[str, None]()
    for check in checks:
        asked = [
            {argument: values[name] for argument, name in check.parameters.items()}
            for values in variants
        ]
        for arguments in {canonical_json(each): each for each in asked}.values():
            sentences |= dict.fromkeys(_sentences(check, arguments, where))
    return list(sentences)


def _sentences(check: Check, arguments: Mapping[str, object], where: str) -> list[str]:
    try:
        function = getattr(importlib.import_module(check.module), check.function)
    except (ImportError, AttributeError) as error:
        raise WorkflowError(
            f"{where}: the check {check} of its front matter cannot be imported: {error}."
        ) from error
    try:
        sentences = function(**arguments, **check.literals)
    except (ValueError, OSError, ImportError) as error:
        raise WorkflowError(f"{where}: {_renamed(str(error), check.parameters)}") from error
    except TypeError as error:
        raise WorkflowError(f"{where}: the check {check} cannot be called: {error}.") from error
    return [_renamed(sentence, check.parameters) for sentence in sentences or []]


def _renamed(sentence: str, names: Mapping[str, str]) -> str:
    """The sentence with the notebook's names in place of those of the arguments."""
    return re.sub(r"`(\w+)`", lambda match: f"`{names.get(match[1], match[1])}`", sentence)

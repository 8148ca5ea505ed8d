"""Data from a file, checked against the type that their reader expects."""

from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.yaml_files import read_yaml

SHOWN = 60  # characters of a value that does not fit


def validate(data: object, shape: Any, where: str) -> Any:
    """`data` of a YAML or JSON reader as a value of the type `shape` or pydantic model; a text is
    never taken for a number, nor a number for a text. Raises WorkflowError, which begins with
    `where` and names every place that does not fit.
    """
    try:
        return TypeAdapter(shape).validate_python(data, strict=True)
    except ValidationError as error:
        faults = [_fault(fault) for fault in error.errors()]
    raise WorkflowError(f"{where}: " + "; ".join(faults) + ".")


def read_optional(path: Path, shape: Any) -> Any:
    """The content of a YAML file as a value of the type `shape`; None where there is no file.
    Raises WorkflowError naming what does not fit.
    """
    return validate(read_yaml(path), shape, str(path)) if path.is_file() else None


def _fault(fault: ErrorDetails) -> str:
    place = ".".join(map(str, fault["loc"]))
    received = repr(fault["input"])
    shown = received if len(received) <= SHOWN else f"{received[:SHOWN]}…"
    return f"{place + ': ' if place else ''}{fault['msg']}, got {shown}"

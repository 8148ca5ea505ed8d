"""JSON Schemas of `book/claims.yml` and `notebooks/profiles.yml`, by which an editor completes and
checks them.
"""

import json
from collections.abc import Collection, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.project import PROFILES, Project
from ntpcompanion.workflow.checking.check_report import SCHEMA, report_schema
from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.notebooks.parameters import Parameter

JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def claims_schema(notebooks: Collection[str]) -> dict[str, Any]:
    """The schema of the claims file of a project with these notebooks.

    What a schema cannot say, the reader checks alone: that an id is used once, that an interval has
    a length, that a number is finite, that a text is not all spaces.
    """
    claim = Claim.model_json_schema()
    definitions = claim.pop("$defs")
    claim["properties"]["notebook"]["enum"] = sorted(notebooks)
    # judged, or shown with the reason why not
    claim |= {
        "if": {"required": ["exploratory"], "properties": {"exploratory": {"type": "string"}}},
        "then": {"properties": {"expect": {"maxProperties": 0}}},
        "else": {"required": ["expect"], "properties": {"expect": {"minProperties": 1}}},
    }
    return {
        "$schema": SCHEMA,
        "title": "Claims",
        "type": ["array", "null"],
        "items": {"$ref": "#/$defs/Claim"},
        "$defs": {**definitions, "Claim": claim},
    }


def profiles_schema(notebooks: Mapping[str, Notebook]) -> dict[str, Any]:
    """The schema of the profiles of a project with these notebooks: each knows its parameters."""
    return {
        "$schema": SCHEMA,
        "title": "Parameters of every notebook under each profile",
        "type": ["object", "null"],
        "properties": {name: _profiles(notebook) for name, notebook in notebooks.items()},
        "additionalProperties": False,
    }


def _profiles(notebook: Notebook) -> dict[str, Any]:
    values = {
        "type": ["object", "null"],
        "properties": {name: _parameter(item) for name, item in notebook.parameters.items()},
        "additionalProperties": False,
    }
    return {
        "description": notebook.title,
        "type": ["object", "null"],
        "properties": dict.fromkeys(PROFILES, values),
        "additionalProperties": False,
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    default, domain = parameter.default, parameter.domain
    described: dict[str, Any] = {"description": parameter.meaning, "default": default}
    items = default if isinstance(default, list) and default else [default]
    kinds = [JSON_TYPES.get(kind) for kind in dict.fromkeys(map(type, items))]
    allowed: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else kinds} if all(kinds) else {}
    if domain and domain.words:
        allowed["enum"] = list(domain.words)
    elif domain:
        low = "exclusiveMinimum" if str(domain).startswith("(") else "minimum"
        high = "exclusiveMaximum" if str(domain).endswith(")") else "maximum"
        bounds = {low: domain.low, high: domain.high}
        allowed |= {name: bound for name, bound in bounds.items() if isfinite(bound)}
    if isinstance(default, list):
        return {**described, "type": "array", "items": allowed}
    return described | allowed


def write_schemas(project: Project, notebooks: Mapping[str, Notebook]) -> list[Path]:
    """Write the schemas of a project to `_build/schemas`, where the first line of each file leads
    an editor, and that of the report of a check. Raises WorkflowError if they cannot be written.
    """
    folder = project.schemas
    made = {
        "claims": claims_schema(notebooks),
        "profiles": profiles_schema(notebooks),
        "check": report_schema(),
    }
    paths = {folder / f"{name}.schema.json": schema for name, schema in made.items()}
    for path, schema in paths.items():
        write_atomically(path, json.dumps(schema, indent=1, ensure_ascii=False) + "\n")
    return list(paths)

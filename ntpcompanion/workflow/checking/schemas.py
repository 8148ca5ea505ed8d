"""The JSON Schema of `book/claims.yml`, by which an editor completes and checks it, and that of the
report of a check.
"""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking.check_report import SCHEMA, report_schema
from ntpcompanion.workflow.claims.claims import Claim


def claims_schema(notebooks: Collection[str]) -> dict[str, Any]:
    """The schema of the claims file of a project with these notebooks.

    What it does not say, the reader checks alone: that an id is used once, that a claim is judged
    or exploratory, that an interval has a length, that a number is finite, that a text is not all
    spaces.
    """
    claim = Claim.model_json_schema()
    definitions = claim.pop("$defs")
    claim["properties"]["notebook"]["enum"] = sorted(notebooks)
    return {
        "$schema": SCHEMA,
        "title": "Claims",
        "type": ["array", "null"],
        "items": {"$ref": "#/$defs/Claim"},
        "$defs": {**definitions, "Claim": claim},
    }


def write_schemas(project: Project, notebooks: Collection[str]) -> list[Path]:
    """Write the schemas of a project to `_build/schemas`, where the first line of each file of
    claims leads an editor. Raises WorkflowError if they cannot be written.
    """
    made = {"claims": claims_schema(notebooks), "check": report_schema()}
    paths = {project.schemas / f"{name}.schema.json": schema for name, schema in made.items()}
    for path, schema in paths.items():
        write_atomically(path, json.dumps(schema, indent=1, ensure_ascii=False) + "\n")
    return list(paths)

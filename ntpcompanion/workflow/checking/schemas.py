"""The JSON Schema of `book/claims.yml`, by which an editor completes and checks it."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.project import Project
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
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Claims",
        "type": ["array", "null"],
        "items": {"$ref": "#/$defs/Claim"},
        "$defs": {**definitions, "Claim": claim},
    }


def write_schema(project: Project, notebooks: Collection[str]) -> Path:
    """Write the schema of the claims of a project to `_build/schemas`, where the first line of each
    of their files leads an editor. Raises WorkflowError if it cannot be written.
    """
    path = project.schemas / "claims.schema.json"
    write_atomically(path, json.dumps(claims_schema(notebooks), indent=1) + "\n")
    return path

"""The schema of claims, which pydantic makes of their reader: what is added to it by hand."""

import contextlib
import json
import re
from dataclasses import replace

import jsonschema
import pytest
import yaml

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.yaml_files import read_yaml
from ntpcompanion.workflow.checking.schemas import claims_schema, write_schema
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.notebooks.notebook import notebook_paths
from tests.toy import CLAIM

BASE = {"id": "toy.half", **CLAIM, "notebook": "coin", "expect": {"book": {"at_least": 0.5}}}
PREDICATES = [
    {"equals": 1, "within": 0.5}, {"order": -1.5, "within": 0}, {"at_least": 0},
    {"at_most": 1e-12}, {"interval": [0, 1.5]}, {"sign": "negative"}, {"effect": -0.5},
    {"increasing": "weakly"}, {"decreasing": "strictly"},
]  # fmt: skip
NO_PREDICATES = [
    {"at_least": "1"}, {"at_least": True}, {"at_least": 1, "at_most": 2}, {"equals": 1},
    {"equals": 1, "within": -1}, {"interval": [1]}, {"sign": "plus"}, {}, 3,
]  # fmt: skip
WRONG = [{"id": "Half"}, {"notebook": "coyn"}, {"surprise": 1}, {"band": {"relative": 1}}]
CASES = [
    ([BASE], True),
    *(([{**BASE, "expect": {"paper": predicate}}], True) for predicate in PREDICATES),
    *(([{**BASE, "expect": {"book": predicate}}], False) for predicate in NO_PREDICATES),
    *(([{**BASE, **changes}], False) for changes in WRONG),
    ({"toy.half": {}}, False),
]


def schema_accepts(schema, data):
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid(data)


def test_the_schema_says_what_the_reader_says(toy):
    schema = claims_schema(notebook_paths(toy.project))
    for items, right in CASES:
        toy.project.claims.write_text(yaml.safe_dump(items))
        with contextlib.nullcontext() if right else pytest.raises(WorkflowError):
            load_claims(toy.project)
        assert schema_accepts(schema, items) == right, items


def test_the_files_of_this_book_are_valid_and_lead_an_editor_to_their_schema(tmp_path):
    project = Project.find()
    written = write_schema(replace(project, root=tmp_path), notebook_paths(project))
    schema = json.loads(written.read_text())
    for path in project.claim_files:
        first = path.read_text(encoding="utf-8").splitlines()[0]
        name = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)[1]
        target = (path.parent / name).resolve()
        assert target.relative_to(project.root).as_posix() == "_build/schemas/claims.schema.json"
        assert schema_accepts(schema, read_yaml(path))

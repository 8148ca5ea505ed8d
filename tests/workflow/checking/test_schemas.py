"""The schema of claims says of a file what its reader says, but for what only the reader can."""

import json
import re
from dataclasses import replace

import jsonschema
import yaml

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.yaml_files import read_yaml
from ntpcompanion.workflow.checking.schemas import claims_schema, write_schemas
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.notebooks.notebook import notebook_paths
from tests.toy import CLAIM

GONE = object()  # in place of a value: the key is left out
BASE = {"id": "toy.half", **CLAIM, "notebook": "coin", "expect": {"book": {"at_least": 0.5}}}
EXPLORATORY = {"exploratory": "one training seed"}


def claim(**changes):
    return {key: value for key, value in {**BASE, **changes}.items() if value is not GONE}


def schema_accepts(schema, data):
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid(data)


def reader_accepts(project):
    try:
        return load_claims(project) is not None
    except WorkflowError:
        return False


PREDICATES = [
    {"equals": 1, "within": 0.5},
    {"order": -1.5, "within": 0},
    {"at_least": 0},
    {"at_most": 1e-12},
    {"interval": [0, 1.5]},
    {"sign": "negative"},
    {"effect": -0.5},
    {"increasing": "weakly"},
    {"decreasing": "strictly"},
]
RIGHT = [
    {},
    {"expect": GONE, **EXPLORATORY},
    {"expect": {}, **EXPLORATORY},
    {"paper_value": 3, "close": "by design", "why": None, "expected_verdict": "refuted"},
    {"paper_value": "about 3", "band": {"relative": 0.5}},
    *({"expect": {"paper": predicate}} for predicate in PREDICATES),
]
NO_PREDICATES = [
    {"at_least": "1"},
    {"at_least": True},
    {"at_least": 1, "at_most": 2},
    {"equals": 1},
    {"equals": 1, "within": -1},
    {"interval": [1]},
    {"interval": [1, "2"]},
    {"sign": "plus"},
    {},
    3,
]
WRONG = [
    {"source": GONE},
    {"id": "Half"},
    {"id": 5},
    {"kind": "said"},
    {"basis": None},
    {"scope": "larger"},
    {"short": "x" * 111},
    {"quantity": "x" * 46},
    {"statement": "ab"},
    {"notebook": "coyn"},
    {"surprise": 1},
    {"expect": {"bock": {"at_least": 1}}},
    *({"expect": {"book": predicate}} for predicate in NO_PREDICATES),
    {"expected_verdict": "exploratory"},
    {"band": {"relative": 1}},
    {"band": {"relatively": 0.1}},
    {"paper_value": [1]},
]
OF_THE_READER = [
    {"expect": GONE},
    {"expect": {}},
    EXPLORATORY,
    {"expect": {"book": {"interval": [2, 1]}}},
    {"expect": {"book": {"at_least": float("inf")}}},
    {"statement": "     "},
]
CASES = [
    *(([claim(**changes)], True, True) for changes in RIGHT),
    *(([claim(**changes)], False, False) for changes in WRONG),
    *((data, False, False) for data in ({"toy.half": {}}, "claims", 3, [3])),
    *(([claim(**changes)], True, False) for changes in OF_THE_READER),
    ([claim(), claim()], True, False),
]


def test_schema_and_reader_accept_and_reject_alike(toy):
    schema, found = claims_schema(notebook_paths(toy.project)), []
    for items, *_ in CASES:
        toy.project.claims.write_text(yaml.safe_dump(items))
        found.append((items, schema_accepts(schema, items), reader_accepts(toy.project)))
    assert found == CASES


def test_the_files_of_this_book_are_valid_and_lead_an_editor_to_their_schema(tmp_path):
    project = Project.find()
    written = write_schemas(replace(project, root=tmp_path), notebook_paths(project))
    schemas = {path.name: json.loads(path.read_text()) for path in written}
    assert set(schemas) == {"claims.schema.json", "check.schema.json"}
    for path in project.claim_files:
        first = path.read_text(encoding="utf-8").splitlines()[0]
        name = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)[1]
        target = (path.parent / name).resolve()
        assert target.relative_to(project.root).as_posix() == "_build/schemas/claims.schema.json"
        assert schema_accepts(schemas[target.name], read_yaml(path))

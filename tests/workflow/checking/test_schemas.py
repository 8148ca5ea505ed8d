"""The schemas say of a file what its reader says: both accept it, or both reject it."""

import copy
import json
import re

import jsonschema
import pytest
import yaml

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.yaml_files import read_yaml
from ntpcompanion.workflow.checking.schemas import claims_schema, profiles_schema, write_schemas
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.notebooks.notebook import find_notebooks, read_notebook
from ntpcompanion.workflow.notebooks.profiles import read_profiles
from tests.toy import CLAIM, HEAD

JUDGED = {"book": {"at_least": 0.5}}
BASE = {"id": "toy.half", **CLAIM, "notebook": "coin", "expect": JUDGED}


class Gone:
    """In place of a value: the key is left out."""

    def __repr__(self) -> str:
        return "gone"


GONE = Gone()


def claim(**changes):
    return {key: value for key, value in {**BASE, **changes}.items() if value is not GONE}


def schema_accepts(schema, data):
    jsonschema.Draft202012Validator.check_schema(schema)
    return not list(jsonschema.Draft202012Validator(schema).iter_errors(data))


def reader_accepts(read, *arguments):
    try:
        read(*arguments)
    except WorkflowError:
        return False
    return True


def both(toy, items):
    toy.project.claims.write_text(yaml.safe_dump(items))
    schema = claims_schema(find_notebooks(toy.project))
    return schema_accepts(schema, items), reader_accepts(load_claims, toy.project)


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


@pytest.mark.parametrize("predicate", PREDICATES, ids=lambda p: next(iter(p)))
def test_every_predicate_is_accepted(toy, predicate):
    assert both(toy, [claim(expect={"paper": predicate})]) == (True, True)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"expect": GONE, "exploratory": "one training seed"},
        {"expect": {}, "exploratory": "one training seed"},
        {"paper_value": 3, "close": "by design", "why": None, "expected_verdict": "refuted"},
        {"paper_value": "about 3", "band": {"relative": 0.5}},
    ],
)
def test_what_is_right_is_accepted(toy, changes):
    assert both(toy, [claim(**changes)]) == (True, True)


@pytest.mark.parametrize(
    "changes",
    [
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
        {"expect": GONE},
        {"expect": {}},
        {"exploratory": "one training seed"},
        {"expect": {"bock": {"at_least": 1}}},
        {"expect": {"book": {"at_least": "1"}}},
        {"expect": {"book": {"at_least": True}}},
        {"expect": {"book": {"at_least": 1, "at_most": 2}}},
        {"expect": {"book": {"equals": 1}}},
        {"expect": {"book": {"equals": 1, "within": -1}}},
        {"expect": {"book": {"interval": [1]}}},
        {"expect": {"book": {"interval": [1, "2"]}}},
        {"expect": {"book": {"sign": "plus"}}},
        {"expect": {"book": {}}},
        {"expect": {"book": 3}},
        {"expected_verdict": "exploratory"},
        {"band": {"relative": 1}},
        {"band": {"relatively": 0.1}},
        {"paper_value": [1]},
    ],
    ids=str,
)
def test_what_is_wrong_is_refused_by_both(toy, changes):
    assert both(toy, [claim(**changes)]) == (False, False)


@pytest.mark.parametrize(
    "items",
    [
        [claim(), claim()],
        [claim(expect={"book": {"interval": [2, 1]}})],
        [claim(expect={"book": {"at_least": float("inf")}})],
        [claim(statement="     ")],
    ],
    ids=["twice", "empty interval", "infinite", "spaces"],
)
def test_what_a_schema_cannot_say_the_reader_refuses_alone(toy, items):
    assert both(toy, items) == (True, False)


@pytest.mark.parametrize("data", [{"toy.half": {}}, "claims", 3, [3]], ids=str)
def test_what_is_no_list_of_claims_is_refused_by_both(toy, data):
    assert both(toy, data) == (False, False)


@pytest.mark.parametrize(
    ("data", "accepted"),
    [
        (None, True),
        ({}, True),
        ({"coin": None}, True),
        ({"coin": {"smoke": None, "book": {"n": 5, "seed": 1}}}, True),
        ({"coyn": {}}, False),
        ({"coin": {"bock": {"n": 5}}}, False),
        ({"coin": {"book": {"m": 5}}}, False),
        ({"coin": {"book": {"n": "5"}}}, False),
        ({"coin": {"book": {"n": 5.5}}}, False),
        ({"coin": {"book": {"n": True}}}, False),
        ({"words": {"book": {"text": 5}}}, False),
        ({"coin": 5}, False),
        ([], False),
    ],
    ids=str,
)
def test_profiles_are_accepted_and_refused_alike(toy, data, accepted):
    known = find_notebooks(toy.project)
    (toy.project.notebooks / "profiles.yml").write_text(yaml.safe_dump(data))
    assert schema_accepts(profiles_schema(known), data) is accepted
    assert reader_accepts(read_profiles, toy.project, known) is (accepted or data == [])


DOMAINS = """---
# Domains

```{code-cell} ipython3
:tags: [parameters]
n = 1  # whole [1, 9)
x = 0.5  # a share (0, 1]
how = "gd"  # {gd, adam}
many = [0.1, 0.2]  # shares [0, inf)
none = None  # anything
some = [True, "a"]  # of two types
seed = 0
```
"""


@pytest.mark.parametrize(
    ("values", "accepted"),
    [
        ({"n": 1, "x": 1, "how": "adam", "many": [0, 5.5], "none": None}, True),
        ({"some": ["b", False], "none": "a bare text"}, True),
        ({"some": [1]}, False),
        ({"n": 9}, False),
        ({"n": 0}, False),
        ({"x": 0}, False),
        ({"x": 1.5}, False),
        ({"how": "sgd"}, False),
        ({"many": [-1]}, False),
        ({"many": 1}, False),
        ({"many": ["a"]}, False),
    ],
    ids=str,
)
def test_domains_of_parameters_hold_in_both(toy, values, accepted):
    path = toy.project.notebooks / "domains.md"
    path.write_text(HEAD + DOMAINS)
    known = {"domains": read_notebook(path)}
    data = {"domains": {"book": values}}
    (toy.project.notebooks / "profiles.yml").write_text(yaml.safe_dump(data))
    assert schema_accepts(profiles_schema(known), data) is accepted
    assert reader_accepts(read_profiles, toy.project, known) is accepted


def test_the_files_of_this_book_are_valid_and_lead_an_editor_to_their_schemas(tmp_path):
    project = Project.find()
    elsewhere = copy.copy(project)
    object.__setattr__(elsewhere, "root", tmp_path)
    written = write_schemas(elsewhere, find_notebooks(project))
    schemas = {path.name: json.loads(path.read_text()) for path in written}
    assert set(schemas) == {f"{name}.schema.json" for name in ("claims", "profiles", "check")}
    for path in (*project.claim_files, project.notebooks / "profiles.yml"):
        first = path.read_text(encoding="utf-8").splitlines()[0]
        name = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)[1]
        target = (path.parent / name).resolve()
        assert target.relative_to(project.root).as_posix() == f"_build/schemas/{target.name}"
        assert schema_accepts(schemas[target.name], read_yaml(path))

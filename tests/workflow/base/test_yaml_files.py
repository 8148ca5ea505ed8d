"""Every reader of YAML and JSON: what it is given is a value, or a sentence."""

import contextlib
import json

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import write_sealed
from ntpcompanion.workflow.base.yaml_files import parse_yaml, read_yaml
from ntpcompanion.workflow.checking.baselines import read_baseline
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.notebooks.contents import toc_pages
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.notebooks.profiles import read_profiles
from ntpcompanion.workflow.records.plans import read_plans
from ntpcompanion.workflow.records.record import load_record
from tests.workflow.halves import PLAN, STORED


def test_what_json_knows_is_read_and_a_date_is_a_text():
    assert parse_yaml("", "here") is None
    text = "a: [1, 2.5, null, yes, 'x']\nb: {c: 2026-13-45, d: '2'}\n<<: 3\n"
    assert parse_yaml(text, "here") == {
        "a": [1, 2.5, None, True, "x"],
        "b": {"c": "2026-13-45", "d": "2"},
        "<<": 3,
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "a: 1\nb: 2\na: 3",
            r"(?s)^here cannot be read: the key 'a' is written twice, first.*line 1, .*and "
            r"again.*line 3, ",
        ),
        ("{x: {1: a, 1.0: b}}", r"the key 1.0 is written twice"),
        ("a: &x [1]\nb: *x", r"(?s)the alias \*x: write the value out.*line 2, column 4"),
        ("&a [*a]", r"the alias \*a"),
        ("[" * 5000, r"^here cannot be read: it is nested too deeply.$"),
        ("a: [1", r"here cannot be read: while parsing a flow sequence"),
        ("? [1]\n: 2", r"found unhashable key"),
        ("!!timestamp soon", r"^here cannot be read: "),
        ("!!int many", r"^here cannot be read: invalid literal for int"),
        ("!!python/object:os.system {}", r"could not determine a constructor"),
        ("a: \x07", r"characters are not allowed"),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(WorkflowError, match=words):
        parse_yaml(text, "here")


@pytest.mark.parametrize(
    "plant",
    [lambda p: p.mkdir(), lambda p: p.write_bytes(b"a: \xff"), lambda p: None],
    ids=["folder", "latin-1", "none"],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, plant):
    plant(tmp_path / "a.yml")
    with pytest.raises(
        WorkflowError, match=r"a.yml cannot be read: .*It must be a text in UTF-8 that you may read"
    ):
        read_yaml(tmp_path / "a.yml")


WORDS = ["coin", "smoke", "n", "file", "root", "id", "function", "grid", "glob"]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(WORDS)
)
KEYS = st.text(max_size=3) | st.sampled_from(WORDS) | st.integers()
DATA = st.recursive(
    LEAVES,
    lambda data: st.lists(data, max_size=3) | st.dictionaries(KEYS, data, max_size=3),
    max_leaves=6,
)


@st.composite
def damaged(draw, whole):
    """Data with something else in one place."""
    if not isinstance(whole, (dict, list)) or not whole or draw(st.integers(0, 3)) == 0:
        return draw(DATA)
    place = draw(st.sampled_from(list(whole) if isinstance(whole, dict) else range(len(whole))))
    part = draw(damaged(whole[place]))
    return (
        {**whole, place: part}
        if isinstance(whole, dict)
        else [*whole[:place], part, *whole[place + 1 :]]
    )


WHOLE = {
    "notebooks/profiles.yml": {"coin": {"smoke": {"n": 10}, "book": None}},
    "book/records/plans.yml": {"halves": PLAN},
    "book/_toc.yml": {
        "format": "jb-book",
        "root": "intro",
        "chapters": [{"file": "chapters/coin"}, {"file": "ledger", "sections": []}],
    },
    "book/claims.yml": [
        {
            "id": "toy.half",
            "paper": "liu",
            "locator": "one",
            "notebook": "coin",
            "expect": {"book": {"equals": 0.5, "within": 1}},
        }
    ],
}


def readers(project):
    known = find_notebooks(project)
    return {
        "notebooks/profiles.yml": lambda: read_profiles(project, known),
        "book/records/plans.yml": lambda: read_plans(project),
        "book/_toc.yml": lambda: toc_pages(project),
        "book/claims.yml": lambda: load_claims(project),
    }


@pytest.mark.parametrize("path", WHOLE)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=st.data())
def test_whatever_a_yaml_file_holds_it_is_read_or_refused_in_a_sentence(toy, path, case):
    file = toy.project.root / path
    before, read = file.read_bytes() if file.exists() else b"", readers(toy.project)[path]
    content = case.draw(
        damaged(WHOLE[path]).map(lambda data: yaml.safe_dump(data).encode())
        | st.binary(max_size=20)
    )
    try:
        file.write_bytes(content)
        with contextlib.suppress(WorkflowError):
            assert read() is not None
    finally:
        file.write_bytes(before)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stored=damaged(STORED), baseline=damaged({"-": {"toy.half": {"value": 0.5}}}))
def test_whatever_a_sealed_record_or_a_baseline_holds_it_is_read_or_refused_in_a_sentence(
    toy, stored, baseline
):
    path = toy.project.records / "halves.json"
    with contextlib.suppress(ValueError, TypeError):  # nobody can seal NaN
        write_sealed(path, stored)
        with contextlib.suppress(WorkflowError):
            assert load_record(toy.project, "halves").name == "halves"
    path.write_text(json.dumps(baseline))
    with contextlib.suppress(WorkflowError):
        assert isinstance(read_baseline(path), dict)

"""YAML that is read strictly: it is a value, or a sentence."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.yaml_files import parse_yaml, read_yaml
from tests.refusing import refused


def test_what_json_knows_is_read_and_a_date_is_a_text():
    assert parse_yaml("", "here") is None
    text = "a: [1, 2.5, null, yes, 'x']\nb: {c: 2026-13-45, d: '2'}\n<<: 3\n"
    text += "e: [010, 1:30, 0_7, -01.5, 1:30.5]\nf: [0, -1, 0.5, 0x1F, -1.5, 1_000, .inf]\n"
    assert parse_yaml(text, "here") == {
        "a": [1, 2.5, None, True, "x"],
        "b": {"c": "2026-13-45", "d": "2"},
        "<<": 3,
        "e": ["010", "1:30", "0_7", "-01.5", "1:30.5"],
        "f": [0, -1, 0.5, 31, -1.5, 1000, math.inf],
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
        ("a: !!timestamp soon", r"(?s)the tag tag:yaml.org,2002:timestamp: write .* column 4"),
        ("!!python/object:os.system {}", r"the tag tag:yaml.org,2002:python/object:os.system"),
        ("! 1", r"the tag !: write the value without it"),
        ("9" * 5000, r"^here cannot be read: Exceeds the limit"),
        ("a: \x07", r"characters are not allowed"),
    ],
)
def test_what_is_refused(text, words):
    with refused(words):
        parse_yaml(text, "here")


@pytest.mark.parametrize(
    "plant",
    [lambda p: p.mkdir(), lambda p: p.write_bytes(b"a: \xff"), lambda p: None],
    ids=["folder", "latin-1", "none"],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, plant):
    plant(tmp_path / "a.yml")
    with refused(r"a.yml cannot be read: .*It must be a text in UTF-8 that you may read"):
        read_yaml(tmp_path / "a.yml")


@given(content=st.binary(max_size=20))
def test_whatever_a_file_holds_it_is_read_or_refused_in_a_sentence(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("yaml") / "a.yml"
    file.write_bytes(content)
    with contextlib.suppress(WorkflowError):
        read_yaml(file)

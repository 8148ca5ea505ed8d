import ast
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.sweeps.grid import (
    LIMIT,
    grid_tasks,
    parse_assignments,
    parse_values,
)


def test_a_grid_is_every_combination():
    tasks = grid_tasks({"scale": 2}, {"n": [1, 2], "rule": ["gd", "adam"]})
    assert [tuple(task.values()) for task in tasks] == [
        (2, 1, "gd"),
        (2, 1, "adam"),
        (2, 2, "gd"),
        (2, 2, "adam"),
    ]
    with pytest.raises(WorkflowError, match=r"^The grid has 1,000,000 points, and a sweep takes"):
        grid_tasks({}, {"n": range(1000), "m": range(1000)})


@given(start=st.integers(-50, 50), stop=st.integers(-50, 50), step=st.integers(-20, 20))
def test_a_range_is_that_of_python(start, stop, step):
    text = f"{start}:{stop}:{step}"
    if step == 0:
        with pytest.raises(WorkflowError, match="has the step 0"):
            parse_values(text, int, "--grid n")
    elif expected := list(range(start, stop, step)):
        found = parse_values(text, int, "--grid n")
        assert found == expected
        assert all(type(value) is int for value in found)
    else:
        with pytest.raises(WorkflowError, match=r"^`--grid n` gives no value, and an empty grid"):
            parse_values(text, int, "--grid n")


@given(start=st.integers(-30, 30), number=st.integers(1, 30), step=st.integers(1, 30))
def test_a_range_of_decimal_fractions_has_no_rounding_errors(start, number, step):
    stop = start + number * step
    found = parse_values(f"{start / 10}:{stop / 10}:{step / 10}", float, "--grid rate")
    assert found == [float(Fraction(start + k * step, 10)) for k in range(number)]


@given(
    values=st.lists(st.integers() | st.floats(allow_nan=False, allow_infinity=False), min_size=1)
)
def test_a_list_is_read_one_by_one(values):
    values = list(dict.fromkeys(map(repr, values)))
    assert parse_values(",".join(values), str, "--grid n") == values


def test_commas_between_brackets_and_quotation_marks_separate_nothing():
    assert parse_values("[1,2],(3, 4),'a,b', x", str, "--grid n") == [
        "[1,2]",
        "(3, 4)",
        "'a,b'",
        "x",
    ]


def test_without_ranges_a_colon_is_a_letter():
    assert parse_values("1:3,4", str, "--grid word", ranges=False) == ["1:3", "4"]
    assert parse_values("1:3", int, "--seeds") == [1, 2], "the step is 1"


@given(values=st.lists(st.text(), min_size=1, unique=True))
def test_quotation_marks_give_every_text(values):
    """As Python writes it; what has no comma, bracket or quotation mark stands as it is."""
    text = ", ".join(map(repr, values))
    assert parse_values(text, str, "--grid word", ranges=False) == values
    assert parse_values(text, ast.literal_eval, "--grid word") == values


def test_an_apostrophe_or_bracket_within_a_text_is_a_letter():
    def texts(text):
        return parse_values(text, str, "--grid word", ranges=False)

    assert texts("don't,can't") == ["don't", "can't"]
    assert texts("'a,b',c") == ["a,b", "c"]
    assert texts("'',\"it's\", :( ,[a") == ["", "it's", ":(", "[a"]
    assert parse_values("don't,won't,[1, 'a,]']", str, "--grid n") == [
        "don't",
        "won't",
        "[1, 'a,]']",
    ]
    for wrong in ("'a,b", "'a'b,c", '"', "'\\x'"):
        with pytest.raises(WorkflowError, match=r"begins with a quotation mark and is not a text"):
            texts(wrong)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "`--grid n` gives no value"),
        (" , ", "`--grid n` gives no value"),
        ("1,2,1", "`--grid n` gives 1 twice. Give each value once"),
        ("0:1:1e-9", rf"has 1,000,000,000 values, and a sweep takes at most {LIMIT:,} runs"),
    ],
)
def test_what_is_no_axis_is_named(text, words):
    with pytest.raises(WorkflowError, match=words):
        parse_values(text, int, "--grid n")


def test_assignments():
    assert parse_assignments(["n=1,2", "rule=a=b"], "--grid") == {"n": "1,2", "rule": "a=b"}
    for texts, words in [
        (["n"], r"`--grid n` must have the form NAME=VALUE"),
        (["=1"], r"`--grid =1` must have the form NAME=VALUE"),
        (["n=1", "n=2"], r"`--grid n=...` is given twice"),
    ]:
        with pytest.raises(WorkflowError, match=words):
            parse_assignments(texts, "--grid")

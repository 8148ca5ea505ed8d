import ast
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.workflow.notebooks.profiles import parse_assignments
from ntpcompanion.workflow.sweeps.campaign import Options
from ntpcompanion.workflow.sweeps.grid import LIMIT
from ntpcompanion.workflow.sweeps.sweep import (
    parse_values,
    planned_in_words,
    read_sweep,
)
from tests.refusing import refused


def test_runs_are_said_before_anything_is_started(instant):
    planned = read_sweep(
        instant.project, "coin", ["n=10:40:10"], seeds="0:2", fixed=[], profile="smoke"
    )
    assert [point.overrides for point in planned.points][:3] == [
        {"n": 10, "seed": 0},
        {"n": 10, "seed": 1},
        {"n": 20, "seed": 0},
    ]
    assert planned_in_words(planned, Options(jobs=2)) == (
        "coin-smoke: 6 runs; 6 to make by 2 processes. How long is known after the first."
    )
    assert planned_in_words(planned, Options(scheduler="tcp://there:1")) == (
        "coin-smoke: 6 runs; 6 to make on tcp://there:1. How long is known after the first."
    )


def test_a_text_parameter_takes_colons(toy):
    (toy.project.root / "1:3").write_text("three short words")
    planned = read_sweep(toy.project, "words", ["text=words.txt,1:3"])
    assert [point.parameters["text"] for point in planned.points] == ["words.txt", "1:3"]
    assert planned.points[0].key != planned.points[1].key


@given(start=st.integers(-50, 50), stop=st.integers(-50, 50), step=st.integers(-20, 20))
def test_a_range_is_that_of_python(start, stop, step):
    text = f"{start}:{stop}:{step}"
    if step == 0:
        with refused("has the step 0"):
            parse_values(text, int, "--grid n")
    elif expected := list(range(start, stop, step)):
        found = parse_values(text, int, "--grid n")
        assert found == expected
        assert all(type(value) is int for value in found)
    else:
        with refused(r"^`--grid n` gives no value, and an empty grid"):
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


def test_commas_between_brackets_separate_nothing():
    assert parse_values("[1,2],[3, 4]", str, "--grid n") == ["[1, 2]", "[3, 4]"]


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
    assert parse_values("don't, can't,[a", str, "--grid word", ranges=False) == [
        "don't", "can't", "[a",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["'a,b", "'a'b,c", '"', "'\\x'", "'a,b',c"])
def test_what_python_would_write_otherwise_is_named(text):
    with refused(r"which are not as Python writes them"):
        parse_values(text, str, "--grid word", ranges=False)


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
    with refused(words):
        parse_values(text, int, "--grid n")


def test_assignments():
    assert parse_assignments(["n=1,2", "rule=a=b"], "--grid") == {"n": "1,2", "rule": "a=b"}
    for texts, words in [
        (["n"], r"`--grid n` must have the form NAME=VALUE"),
        (["=1"], r"`--grid =1` must have the form NAME=VALUE"),
        (["n=1", "n=2"], r"`--grid n=...` is given twice"),
    ]:
        with refused(words):
            parse_assignments(texts, "--grid")


SCALED = """
class Plan(experiment.Plan):
    eta: float

def run(plan):
    return Result(value=plan.eta)
"""


def test_one_point_is_not_run_as_two(importable):
    importable.write_experiment("scaled", SCALED)
    with refused("Two points of the grid are one, as 1000 and 1e3"):
        read_sweep(importable.project, "scaled", ["eta=1000,1e3"])

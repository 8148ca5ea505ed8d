from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from ntpcompanion import plots
from ntpcompanion.plots.drawing.tables import in_words, with_error


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0333401306180385, "1.03"),
        (-0.5, "−0.500"),
        (0.0, "0"),
        (123.456, "123"),
        (98765.4, "98765"),
        (999.6, "1000"),
        (0.00012345, "0.000123"),
        (1.2345e-9, "1.23 × 10⁻⁹"),
        (-6.7e12, "−6.70 × 10¹²"),
        (5e-324, "4.94 × 10⁻³²⁴"),
        (1.7976931348623157e308, "1.80 × 10³⁰⁸"),
        (float("nan"), "–"),
        (float("-inf"), "−∞"),
        (None, "–"),
        (pd.NA, "–"),
        (True, "yes"),
        (np.False_, "no"),
        (np.int64(-3), "−3"),
        (1234567, "1,234,567"),
        ("SGD", "SGD"),
    ],
)
def test_a_cell_has_three_significant_digits_or_words(value, text):
    assert in_words(value, 3) == text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.57301, 0.0111, "0.573 ± 0.011"),
        (0.57301, 0.0996, "0.57 ± 0.10"),
        (-12.3456, 2.0, "−12.3 ± 2.0"),
        (1234.5, 120.0, "1234 ± 120"),
        (2e-9, 3e-10, "(2.00 ± 0.30) × 10⁻⁹"),
        (9.9999e-7, 1e-9, "(1.0000 ± 0.0010) × 10⁻⁶"),
        (-1.0, 99999.6, "(−0.0 ± 1.0) × 10⁵"),
        (0.5, 0.0, "0.500"),
        (0.5, float("nan"), "0.500"),
        (float("nan"), 0.1, "–"),
    ],
)
def test_a_value_ends_where_its_error_does(value, error, text):
    assert with_error(value, error, 3) == text


def parsed(shown):
    table = ElementTree.fromstring(shown._repr_html_())[0]
    return [[cell.text or "" for cell in row] for row in table.iter("tr")]


def test_a_table_has_one_row_of_heads_and_hides_a_range(rng):
    frame = pd.DataFrame({"loss (nats)": [0.5, 0.25], "se": [0.01, 0.02], "zero": [True, None]})
    shown = plots.show_table(frame, errors={"loss (nats)": "se"})
    assert parsed(shown) == [
        ["loss (nats)", "zero"], ["0.500 ± 0.010", "yes"], ["0.250 ± 0.020", "–"],
    ]  # fmt: skip
    assert "se" not in repr(shown).split()


def test_an_index_with_a_name_is_shown_and_heads_of_two_rows_become_one():
    frame = pd.DataFrame(
        [[1.0, 2.0]],
        columns=pd.MultiIndex.from_tuples([("excess", "Adam"), ("excess", "SGD")]),
        index=pd.MultiIndex.from_tuples([(16, "a < b")], names=["batch size", None]),
    )
    assert parsed(plots.show_table(frame, digits=2)) == [
        ["batch size", "", "excess, Adam", "excess, SGD"], ["16", "a < b", "1.0", "2.0"],
    ]  # fmt: skip


def test_numbers_stand_at_the_right_and_words_at_the_left():
    html = plots.show_table(pd.DataFrame({"n": [1], "name": ["x"]}))._repr_html_()
    assert '<td class="ntp-number">1</td><td>x</td>' in html


def test_the_frame_is_left_alone():
    frame = pd.DataFrame({"a": [0.123456]})
    plots.show_table(frame)._repr_html_()
    assert frame["a"].tolist() == [0.123456]


def test_a_table_without_rows_shows_its_heads():
    assert parsed(plots.show_table(pd.DataFrame({"a": []}))) == [["a"]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"digits": 0}, "`digits` must be at least 1, got 0"),
        ({"errors": {"b": "a"}}, "`errors` names the column 'b'; the table has 'a'"),
        ({"errors": {"a": "se"}}, "`errors` names the column 'se'"),
        ({"by": ["k"]}, "`frame` has no column 'k'. It has 'a'"),
    ],
)
def test_impossible_orders_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        plots.show_table(pd.DataFrame({"a": [1.0]}), **options)


def test_groups_are_shown_by_their_means_and_errors():
    frame = pd.DataFrame({"kind": ["a", "b", "a", "b"], "loss": [1.0, 5.0, 3.0, 5.0]})
    shown = parsed(plots.show_table(frame, by=["kind"]))
    assert shown == [["kind", "loss"], ["a", "2.0 ± 1.0"], ["b", "5.00"]]
    unknown = parsed(plots.show_table(frame.replace("b", None), by=["kind"]))
    assert unknown == [["kind", "loss"], ["a", "2.0 ± 1.0"], ["–", "5.00"]]


def test_columns_of_one_name_and_words_where_numbers_are_averaged_are_refused():
    frame = pd.DataFrame([[1.0, "x"]], columns=["a", "b"])
    with pytest.raises(ValueError, match="`frame` must hold numbers in its column 'b'"):
        plots.show_table(frame, by=["a"])
    with pytest.raises(ValueError, match="no two columns of one name, got 'a' twice"):
        plots.show_table(frame.set_axis(["a", "a"], axis=1))

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ntpcompanion.workflow.claims.formatting import (
    in_myst,
    inert,
    mathematics,
    number,
    powers,
    show,
)
from ntpcompanion.workflow.claims.measurement import Measurement


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.47312, 0.0158, "0.473 ± 0.016"),
        (123.456, 12.0, "123 ± 12"),
        (5.0, 0.0, "5"),
        (0.123456, 0.0, "0.1235"),
        (1e-13, 0.0, "1e-13"),
        (3.21e-12, 1.5e-13, "3.21e-12 ± 1.5e-13"),
        (-2.0, 0.25, "-2.00 ± 0.25"),
        (0.0, 0.0, "0"),
        (1.0, 1.5e-7, "1.00000000 ± 0.00000015"),
        (1.0, 1.5e-8, "1.000000000e+00 ± 1.5e-08"),
        (-1.23456789012, 1.5e-9, "-1.2345678901e+00 ± 1.5e-09"),
        (0.0, 1.5e-9, "0.00e+00 ± 1.5e-09"),
        (-1.11807, 0.0998676, "-1.12 ± 0.10"),
        (0.57301, 9.96, "1 ± 10"),
        (1e15 - 1, 0.0, "999999999999999"),
        (1e15, 0.0, "1e+15"),
        (2.0000001, 0.0, "2.0000001"),
        (0.9999999999999998, 0.0, "1 - 2.2e-16"),
        (-2.0000000000000004, 0.0, "-2 - 4.4e-16"),
        (0.99999999999, 0.0, "0.99999999999"),
    ],
)
def test_digits_follow_the_error(value, error, text):
    assert number(value, error) == text


def test_digits_tell_a_value_from_what_it_is_compared_with():
    assert number(0.12341, 0.0, distinguish_from=[0.1234]) == "0.12341"
    assert number(0.1234, 0.0, distinguish_from=[0.1234]) == "0.1234"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1.267e-05", "1.267 × 10⁻⁵"),
        ("≤ 1e-12", "≤ 10⁻¹²"),
        ("-1e+15, 2.5e20", "−10¹⁵, 2.5 × 10²⁰"),
        ("1.00e+00 ± 1.5e-08", "1.00 ± 1.5 × 10⁻⁸"),
        ("-0.5, [-1, 2]", "−0.5, [−1, 2]"),
        ("0.5, 10, 3e, 1e-3x, a1e-5, 12e4.5", "0.5, 10, 3e, 1e-3x, a1e-5, 12e4.5"),
    ],
)
def test_powers_of_ten_are_written_as_such(text, written):
    assert powers(text) == written


def test_long_lists_are_cut_on_the_line_and_whole_below():
    item = Measurement.of("a.b", list(range(10)))
    assert show(item) == "0, 1, 2, 3, 4, …, 9"
    assert show(item, shown=None) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
    pair = Measurement.of("a.b", [1.0, 2.0], stderr=[0.1, 0.2], replicates=5)
    assert show(pair) == "1.00 ± 0.10, 2.00 ± 0.20"


def test_text_is_escaped_and_mathematics_is_marked():
    assert (
        mathematics("a < b & $x < y$ c")
        == r'a &lt; b &amp; <span class="mathjax_process">\(x &lt; y\)</span> c'
    )


@given(st.text(alphabet="ab <>&*_`[](){}!|$\\~#-+.:\"'", max_size=20))
def test_nothing_in_an_inert_line_is_markup(text):
    """CommonMark gives back the text, letter by letter, whatever stands in it."""
    rendered = MarkdownIt("commonmark").renderInline("x" + inert(html.escape(text)) + "x")
    assert html.unescape(rendered) == f"x{text}x"
    assert not re.search(r"<\w", rendered)


def test_mathematics_stays_mathematics_in_a_line_of_myst():
    assert in_myst("a_1 < b & $x_1 < y$") == "a&#95;1 &lt; b &amp; $x_1 < y$"


def test_tags_of_our_own_stay_in_an_inert_line():
    assert inert('<span class="a_b">x_1</span>') == '<span class="a_b">x&#95;1</span>'

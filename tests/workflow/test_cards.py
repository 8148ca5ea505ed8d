import pytest

from ntpcompanion.workflow import cards


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.47312, 0.0158, "0.473 ± 0.016"), (123.456, 12.0, "123 ± 12"), (5.0, 0.0, "5"), (0.123456, 0.0, "0.1235"), (1e-13, 0.0, "1e-13"),
        (3.21e-12, 1.5e-13, "3.21e-12 ± 1.5e-13"), (-2.0, 0.25, "-2.00 ± 0.25"), (0.0, 0.0, "0"),
    ],
)  # fmt: skip
def test_digits_follow_the_error(value, error, text):
    assert cards.number(value, error) == text


def test_long_lists_are_cut_on_the_line_and_whole_below():
    item = {"value": [float(k) for k in range(10)], "stderr": 0.0}
    assert cards.show(item) == "0, 1, 2, 3, 4, …, 9"
    assert cards.show(item, shown=None) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
    assert cards.show({"value": [1.0, 2.0], "stderr": [0.1, 0.2]}) == "1.00 ± 0.10, 2.00 ± 0.20"


def test_text_is_escaped_and_mathematics_is_marked():
    assert cards.mathematics("a < b & $x < y$ c") == r'a &lt; b &amp; <span class="mathjax_process">\(x &lt; y\)</span> c'
    assert cards.badge("not measured") == '<span class="ntp-badge ntp-not-measured">not measured</span>'
    assert cards.anchor("ntp.thm2.direction") == "claim-ntp-thm2-direction"

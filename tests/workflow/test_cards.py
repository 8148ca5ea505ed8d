from dataclasses import replace

import pytest

from ntpcompanion.workflow import cards
from ntpcompanion.workflow.claims import Claim, judge
from tests.toy import CLAIM
from tests.workflow.test_baselines import result


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.47312, 0.0158, "0.473 ± 0.016"), (123.456, 12.0, "123 ± 12"), (5.0, 0.0, "5"), (0.123456, 0.0, "0.1235"), (1e-13, 0.0, "1e-13"),
        (3.21e-12, 1.5e-13, "3.21e-12 ± 1.5e-13"), (-2.0, 0.25, "-2.00 ± 0.25"), (0.0, 0.0, "0"),
        (1.0, 1.5e-7, "1.00000000 ± 0.00000015"), (1.0, 1.5e-8, "1.00e+00 ± 1.5e-08"),
        (1e15 - 1, 0.0, "999999999999999"), (1e15, 0.0, "1e+15"),
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


def card(measurement, **changes):
    claim = Claim.model_validate({**CLAIM, "id": "toy.x", "notebook": "coin", "expect": {"book": {"at_most": 2}}, **changes})
    made = replace(result("coin"), parameters={"n": 3, "mode": "<a>"})
    return cards.card(claim, judge(claim, "book", measurement), measurement, made, "A & B"), claim


def test_a_card_says_what_was_claimed_measured_and_expected():
    html, claim = card({"value": 1.0, "stderr": 0.25, "seed": 0})
    assert html.startswith(
        '<details class="ntp-card mathjax_process" id="claim-toy-x"><summary><span class="ntp-badge ntp-supported">supported</span> '
        f'<span class="ntp-locator">{claim.locator}</span> <span class="ntp-facts">ours 1.00 ± 0.25 · expected ≤ 2</span></summary><dl>'
    )
    rows = ["Claim", "Measured", "Expected number from", "Values", "Expected verdict", "Parameters", "Seed", "Made on", "Id"]
    assert [part.split("</dt>")[0] for part in html.split("<dt>")[1:]] == rows
    for text in (
        "n = 3, mode = &#x27;&lt;a&gt;&#x27;",
        "A &amp; B",
        "<code>toy.x</code>",
        "<dt>Seed</dt><dd>0</dd>",
        cards.mathematics(claim.statement),
    ):
        assert text in html
    assert html.endswith("</dd></dl></details>")


def test_a_card_shows_the_number_of_the_paper_and_whether_chance_enters():
    html, _ = card({"value": 3.0, "stderr": 0.0, "seed": None}, paper_value=0)
    assert "ours 3 · expected ≤ 2 · paper 0" in html
    assert "none: nothing random enters" in html
    assert "expected nothing at profile book" in card({"value": 3.0, "stderr": 0.0, "seed": None}, expect={"paper": {"at_most": 2}})[0]

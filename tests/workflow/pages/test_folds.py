"""Folds of code and strips of cards, on cells made by hand."""

import nbformat
import pytest

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.pages.folds import (
    card_groups,
    gather_cards,
    hide_code,
    shows_output,
    summary,
)
from tests.workflow.pages.views import claim_that

GLUED = {"application/papermill.record/text/plain": "1"}


def code(source, *shown, tags=(), **metadata):
    outputs = [nbformat.v4.new_output("display_data", data) for data in shown]
    return nbformat.v4.new_code_cell(
        source, metadata={"tags": list(tags), **metadata}, outputs=outputs
    )


@pytest.mark.parametrize("tag", ["hide-input", "hide_input"])
def test_a_tag_decides_what_may_be_opened(tag):
    figure = code("draw()", {"image/svg+xml": "<svg/>"})
    cells = [code("a", tags=[tag]), nbformat.v4.new_markdown_cell("Then."), figure]
    cells.append(code("x = 1", GLUED, tags=["mine"]))
    hide_code(cells)
    found = [cell.metadata.get("tags") for cell in cells]
    assert found == [[tag], None, ["remove-input"], ["mine", "remove-cell"]]
    assert (figure.source, len(figure.outputs)) == ("draw()", 1)


def test_glued_values_are_not_seen():
    assert not shows_output(code("x", GLUED))
    assert shows_output(code("x", GLUED, {"text/plain": "1"}))
    assert not shows_output(code("x", {"text/plain": "1"}, tags=["remove-output"]))
    printed = code("print(1)")
    printed.outputs = [nbformat.v4.new_output("stream", text="1")]
    assert shows_output(printed)


def made(*shown):
    return code("x", *shown)


def card(name):
    return {MEASUREMENT_MIME: {"id": name}, "text/html": f"<{name}>"}


def drawn(cells):
    return [
        output.data["text/html"] for cell in cells for output in cell.outputs if "text/html" in
        output.data
    ]  # fmt: skip


def judged(**verdicts):
    """Claims `a` to `f`, supported but for those with another verdict."""
    claim = claim_that()
    known = {name: verdicts.get(name, "supported") for name in "abcdef"}
    return {n: JudgedClaim(claim, "book", None, verdict, None) for n, verdict in known.items()}


def names(cells):
    groups = card_groups(cells, judged())
    return [[output.data[MEASUREMENT_MIME]["id"] for output in group] for group in groups]


def test_cards_stand_together_until_something_else_is_seen():
    text, blank = (nbformat.v4.new_markdown_cell(source) for source in ("Then.", "\n"))
    cells = [
        made(card("a"), GLUED),
        blank,
        made(card("b"), {"text/plain": "1"}, card("c")),
        text,
    ]
    assert names([*cells, made(card("d")), made()]) == [["a", "b"], ["c"], ["d"]]
    assert names([made(card("a"), card("unknown"), card("b"))]) == [["a"], ["b"]]
    assert names([made()]) == []


def test_three_cards_stand_and_the_rest_waits_in_one_strip():
    cells = [made(*map(card, "abc")), made(*map(card, "def"))]
    gather_cards(cells, judged(e="refuted"))
    assert drawn(cells) == [
        "<a>",
        "<b>",
        "<c>",
        '<details class="ntp-strip"><summary>3 more claims: 2 supported, 1 refuted (stated)'
        "</summary><d><e><f></details>",
        "",
        "",
    ]


def test_cards_of_a_cell_tagged_strip_wait_however_few_they_are():
    tagged = made(*map(card, "bc"))
    tagged.metadata["tags"] = ["remove-input", "strip"]
    strip = '<details class="ntp-strip"><summary>2 {}: 2 supported</summary><b><c></details>'
    cells = [made(card("a")), tagged, made(card("d"))]
    gather_cards(cells, judged())
    assert drawn(cells) == ["<a>", strip.format("more claims"), "", "<d>"]
    alone = made(*map(card, "bc"))
    alone.metadata["tags"] = ["strip"]
    gather_cards([alone], judged())
    assert drawn([alone]) == [strip.format("claims"), ""]


@pytest.mark.parametrize("count", [1, 4])
def test_four_cards_need_no_strip(count):
    cells = [made(*map(card, "abcd"[:count]))]
    gather_cards(cells, judged())
    assert drawn(cells) == [f"<{name}>" for name in "abcd"[:count]]


def test_a_strip_counts_by_verdict():
    assert summary(["refuted"]) == "1 more claim: refuted"
    said = summary(["not measured", "exploratory", "inconclusive", "supported", "supported"])
    assert said == "5 more claims: 2 supported, 1 inconclusive, 1 exploratory, 1 not measured"

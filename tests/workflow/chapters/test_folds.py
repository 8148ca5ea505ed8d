"""Folds of code and strips of cards, on cells made by hand."""

import nbformat
import pytest

from ntpcompanion.workflow.chapters.folds import (
    card_runs,
    fold,
    fold_code,
    gather_cards,
    shows_output,
    summary,
)
from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from tests.workflow.chapters.views import claim_that

GLUED = {"application/papermill.record/text/plain": "1"}


def code(source, *shown, tags=(), **metadata):
    outputs = [nbformat.v4.new_output("display_data", data) for data in shown]
    return nbformat.v4.new_code_cell(
        source, metadata={"tags": list(tags), **metadata}, outputs=outputs
    )


def folded(source, *shown):
    return code(source, *shown, tags=["hide-input"])


def text(source):
    return nbformat.v4.new_markdown_cell(source)


def skeleton(cells):
    """Code cells by what is left of them, folds by the code that they hold, texts as they are."""
    return [
        (cell.source if "ntp-code" not in cell.source else cell.source.split("```")[1].split()[1:])
        if cell.cell_type == "markdown"
        else cell.metadata["tags"]
        for cell in fold_code(cells)
    ]


@pytest.mark.parametrize("tag", ["hide-input", "hide_input"])
def test_a_tag_decides_what_may_be_opened(tag):
    cells = [code("measure('a', 1)", tags=[tag]), text("Then."), code("x = 1", tags=["mine"])]
    assert skeleton(cells) == [
        ["measure('a',", "1)"],
        ["remove-cell"],
        "Then.",
        ["mine", "remove-cell"],
    ]


def test_glued_values_are_not_seen():
    assert not shows_output(code("x", GLUED))
    assert shows_output(code("x", GLUED, {"text/plain": "1"}))
    assert not shows_output(code("x", {"text/plain": "1"}, tags=["remove-output"]))
    printed = code("print(1)")
    printed.outputs = [nbformat.v4.new_output("stream", text="1")]
    assert shows_output(printed)


def test_code_with_nothing_seen_between_is_one_fold():
    cells = [folded("a"), code("c", GLUED), text(" "), folded("b", {"text/plain": "1"})]
    assert skeleton(cells) == [["remove-cell"], ["remove-cell"], " ", ["a", "b"], ["remove-input"]]


def test_text_and_output_part_folds():
    shown = {"text/plain": "1"}
    cells = [folded("a", shown), folded("b"), text("Then."), folded("c")]
    assert skeleton(cells) == [
        ["a"], ["remove-input"], ["b"], ["remove-cell"], "Then.", ["c"], ["remove-cell"]
    ]  # fmt: skip


def test_what_a_figure_is_made_of_stands_before_it():
    figure = code("draw()", {"image/svg+xml": "<svg/>"}, mystnb={"figure": {"name": "fig-a"}})
    assert skeleton([folded("a"), figure, folded("b")]) == [
        ["a"], ["remove-cell"], ["remove-input"], ["b"], ["remove-cell"]
    ]  # fmt: skip


def test_source_and_outputs_are_left_alone():
    cell = code("a", {"text/plain": "1"}, tags=["hide-input", "mine"])
    (_, kept) = fold_code([cell])
    assert (kept.source, len(kept.outputs)) == ("a", 1)
    assert kept.metadata["tags"] == ["mine", "remove-input"]


def test_a_fold_says_how_long_it_is_and_no_code_ends_it():
    assert fold(["a = 1"]).splitlines() == [
        '<details class="ntp-code"><summary>Code <span class="ntp-lines">1 line</span></summary>',
        "",
        "```ipython3",
        "a = 1",
        "```",
        "",
        "</details>",
    ]
    long = fold(["a = '''```'''", "b"])
    assert "3 lines" in long
    assert "````ipython3\na = '''```'''\n\nb\n````" in long


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
    runs = card_runs(cells, judged())
    return [[output.data[MEASUREMENT_MIME]["id"] for output in run] for run in runs]


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

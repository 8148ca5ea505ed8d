"""Which code a page shows, decided on cells made by hand."""

import nbformat
import pytest

from ntpcompanion.workflow.chapters.code_folds import fold, fold_code, shows_output

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

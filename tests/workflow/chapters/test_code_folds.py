"""Which code a page shows, decided on cells made by hand."""

import nbformat
import pytest

from ntpcompanion.workflow.chapters.code_folds import fold, fold_code, is_shown, shows_output

GLUED = {"application/papermill.record/text/plain": "1"}


def code(source, *shown, tags=(), **metadata):
    outputs = [nbformat.v4.new_output("display_data", data) for data in shown]
    return nbformat.v4.new_code_cell(
        source, metadata={"tags": list(tags), **metadata}, outputs=outputs
    )


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


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nfrom ntpcompanion import plots",
        "import numpy as np\n\nplots.use_style()",
        "%matplotlib inline\nimport numpy as np",
        "x = f(2)\nmeasure('a.b', x)",
        "for name in names:\n    glue(name, 1.0, display=False)",
        "plots.csv_link(frame, 'a.csv')",
        "frame = g()\nshow_record('phase')",
        "plots.widget('plane', data, picture=fig)",
        "%%html\n<p>",
        "%load_ext memory_profiler\n!mkdir -p folder",
        "",
    ],
)
def test_what_imports_draws_measures_or_keeps_books_has_no_fold(source):
    assert not is_shown(code(source))


@pytest.mark.parametrize(
    "source",
    [
        "x = 1",
        "import numpy as np\nx = np.ones(3)",
        "measured = measure.value",  # no call
        "!ls\nx = 1",
        "%%time\nx = 1",
        "files = !ls",
        "rest = (17\n    % 5)",
        "frame",
        "plots.show_table(frame)",
    ],
)
def test_what_computes_has_one(source):
    assert is_shown(code(source))


@pytest.mark.parametrize(
    "tag", ["remove-input", "remove-cell", "parameters", "injected-parameters"]
)
def test_a_tag_takes_code_off(tag):
    assert not is_shown(code("x = 1", tags=[tag]))


def test_a_figure_has_no_fold():
    assert not is_shown(code("draw()", mystnb={"figure": {"name": "fig-a"}}))
    assert is_shown(code("draw()", mystnb={"image": {"alt": "a"}}))


def test_glued_values_are_not_seen():
    assert not shows_output(code("x", GLUED))
    assert shows_output(code("x", GLUED, {"text/plain": "1"}))
    assert not shows_output(code("x", {"text/plain": "1"}, tags=["remove-output"]))
    printed = code("print(1)")
    printed.outputs = [nbformat.v4.new_output("stream", text="1")]
    assert shows_output(printed)


def test_code_with_nothing_seen_between_is_one_fold():
    cells = [code("a"), code("glue('x', 1)", GLUED), text(" "), code("b", {"text/plain": "1"})]
    assert skeleton(cells) == [["remove-cell"], ["remove-cell"], " ", ["a", "b"], ["remove-input"]]


def test_text_and_output_part_folds():
    shown = {"text/plain": "1"}
    cells = [code("a", shown), code("b"), text("Then."), code("c", tags=["hide-input"])]
    assert skeleton(cells) == [
        ["a"], ["remove-input"], ["b"], ["remove-cell"], "Then.", ["c"], ["remove-cell"]
    ]  # fmt: skip


def test_what_a_figure_is_made_of_stands_before_it():
    figure = code("draw()", {"image/svg+xml": "<svg/>"}, mystnb={"figure": {"name": "fig-a"}})
    assert skeleton([code("a"), figure, code("b")]) == [
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

"""Notebooks and pages that would be executed once more while they are rendered, or show cards that
no run has made.
"""

import pytest

MYST = (
    "---\nfile_format: mystnb\nkernelspec: {name: python3, display_name: Python 3, language: "
    "python}\n---\n"
)
TYPED = (
    "# Typed\n\n```{code-cell} ipython3\nfrom ntpcompanion.workflow import measure\n"
    'measure("toy.half", 0.777)\n```\n'
)
CARD = (
    "# Typed\n\n<DETAILS id='claim-toy_half' class='mathjax_process ntp-card'>"
    "<summary>supported</summary></details>\n"
)


@pytest.mark.parametrize(
    "entry", ["mystnb: {execution_mode: force}", "execution: {mode: force}", "file_format: mystnb"]
)
def test_a_notebook_does_not_say_how_it_is_executed(toy, no_kernel, entry):
    no_kernel()
    toy.edit("notebooks/words.md", "ntp:", f"{entry}\nntp:")
    assert (
        f"words.md: unknown front matter entry {entry.partition(':')[0]}; known: jupytext, "
        "kernelspec" in toy.command("build", code=1)
    )


@pytest.mark.slow
def test_a_page_of_the_book_is_not_executed_and_has_no_cards_of_its_own(executed):
    toy = executed
    toy.edit("book/_toc.yml", "- file: ledger", "- file: typed\n- file: ledger")
    page = toy.project.book / "typed.md"
    page.write_text("# Typed\n")
    toy.command("build")
    for text, words in {
        MYST + TYPED: "book/typed.md has the front matter of a notebook: put it into notebooks/",
        TYPED: "unexpected `code-cell`",
        CARD: "typed.html shows a card #claim-toy_half that no stored run has measured for it",
    }.items():
        page.write_text(text)
        assert words in toy.command("build", code=1)
    page.rename(page.with_suffix(".ipynb"))
    assert "there is no book/typed.md. A page is a MyST text" in toy.command("build", code=1)

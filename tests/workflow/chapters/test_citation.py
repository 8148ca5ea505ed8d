import pytest

from ntpcompanion.settings import Settings
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.chapters.citation import Book, bibtex, read_book

BOOK = Book("A & B", "Its authors", settings=Settings(name="coins", version="0.3"))


def test_a_chapter_is_cited_as_part_of_the_book():
    entry = bibtex(BOOK, "a_coin", "What $W^{mm}$ is", "2026")
    assert entry.splitlines() == [
        "@incollection{coins-a_coin,",
        "  author = {{Its authors}},",
        "  title = {What $W^{mm}$ is},",
        r"  booktitle = {A \& B},",
        "  year = {2026},",
        r"  note = {coins 0.3, notebook a\_coin},",
        "}",
    ]


@pytest.mark.parametrize("text", ["title: [A]", "repository: here", "repository: {url: 3}"])
def test_an_entry_of_another_form_is_named(toy, text):
    (toy.project.root / "_config.yml").write_text(f"{text}\n")
    with pytest.raises(WorkflowError, match=rf"_config.yml, {text.partition(':')[0]}"):
        read_book(toy.project)

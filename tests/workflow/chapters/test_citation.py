import pytest

from ntpcompanion.settings import Settings
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.chapters.citation import Book, Chapter, latex, read_book

BOOK = Book("A & B", "Its authors", settings=Settings(name="coins", version="0.3"))
CHAPTER = Chapter(BOOK, "a_coin", "What $W^{mm}$ is", "2026")


def test_no_character_of_a_text_is_markup_but_mathematics_stays():
    assert latex(r"50 % of $p_{1}$ & #1_{a}") == r"50 \% of $p_{1}$ \& \#1\_\{a\}"
    assert latex("~^\\") == r"\textasciitilde{}\textasciicircum{}\textbackslash{}"


def test_a_chapter_is_cited_as_part_of_the_book():
    assert CHAPTER.entry.splitlines() == [
        "@incollection{coins-a_coin,",
        "  author = {{Its authors}},",
        "  title = {What $W^{mm}$ is},",
        r"  booktitle = {A \& B},",
        "  year = {2026},",
        r"  note = {coins 0.3, notebook a\_coin},",
        "}",
    ]


def test_a_book_without_a_name_is_cited_by_its_parts():
    entry = Chapter(Book("A", "B"), "a", "A", "2026").entry.splitlines()
    assert (entry[0], entry[-2]) == ("@incollection{a,", "  note = {notebook a},")


def test_the_configuration_says_what_the_book_is(toy):
    path = toy.project.root / "_config.yml"
    path.write_text("title: A\nauthor: B\n")
    assert read_book(toy.project) == Book("A", "B", "")
    path.write_text("title: A\nauthor: B\nrepository: {url: 'https://example.org/a/'}\n")
    assert read_book(toy.project) == Book("A", "B", "https://example.org/a")


@pytest.mark.parametrize("text", ["title: [A]", "repository: here", "repository: {url: 3}"])
def test_an_entry_of_another_form_is_named(toy, text):
    (toy.project.root / "_config.yml").write_text(f"{text}\n")
    with pytest.raises(WorkflowError, match=rf"_config.yml, {text.partition(':')[0]}"):
        read_book(toy.project)

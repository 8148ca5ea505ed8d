import pytest

from ntpcompanion.settings import Settings
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.chapters.citation import (
    Book,
    Chapter,
    claim_entry,
    latex,
    read_book,
)
from tests.workflow.claims.test_verdict import claim_that

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


def test_a_book_with_an_address_gives_it():
    book = Book("A", "B", "https://example.org/a")
    assert "  url = {https://example.org/a}," in Chapter(book, "a", "A", "2026").entry


def test_a_book_without_a_name_is_cited_by_its_parts():
    entry = Chapter(Book("A", "B"), "a", "A", "2026").entry.splitlines()
    assert (entry[0], entry[-2]) == ("@incollection{a,", "  note = {notebook a},")
    claim = claim_that({"at_most": 2})
    assert "note" not in claim_entry(Chapter(Book("A", "B"), "a", "A", "2026"), claim, "")


def test_a_claim_is_cited_with_its_verdict_and_number():
    claim = claim_that({"at_most": 2}, short="Half of all.")
    entry = claim_entry(CHAPTER, claim, "supported: share = 0.5 %").splitlines()
    assert entry[0] == "@misc{coins-toy.x,"
    assert "  title = {Half of all}," in entry
    assert r"  howpublished = {Claim toy.x of the chapter ``What $W^{mm}$ is'', A \& B}," in entry
    assert r"  note = {supported: share = 0.5 \%; coins 0.3}," in entry


def test_a_claim_without_words_of_its_own_is_cited_by_its_statement():
    assert "title = {One half is $1/2$}," in claim_entry(CHAPTER, claim_that({"at_most": 2}), "")


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

"""Tables of contents that list what is not a page, and pages that are not prose."""

import pytest

from ntpcompanion.workflow.notebooks.contents import page_faults, toc_chapters, toc_pages
from tests.refusing import refused


def test_the_pages_are_listed_the_root_first(toy):
    pages = ["intro", "chapters/coin", "chapters/words", "ledger", "status"]
    assert toc_pages(toy.project) == pages


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("format: [", r"_toc.yml cannot be read: "),
        ("- file: intro", r"_toc.yml: Input should be a valid dictionary, got \["),
        ("root: {file: [intro]}", r"_toc.yml, root: Input should be a valid string, got \{"),
        (
            "root: intro\nchapters: [{glob: 'x*'}]",
            r"_toc.yml: `glob: x\*` lists pages that nobody chose. Write a `file` for each page",
        ),
    ],
)
def test_a_damaged_table_of_contents_is_named(toy, text, words):
    (toy.project.book / "_toc.yml").write_text(text)
    with refused(words):
        toc_pages(toy.project)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# A page\n", None),
        ("---\ntocdepth: 2\n---\n# A page\n", None),
        ("---\nno entries\n---\n# A page\n", None),
        ("---\nfile_format: mystnb\n---\n", "book/intro.md has the front matter of a notebook"),
        (
            "\ufeff---\njupytext: {text_representation: {format_name: myst}}\n...\n",
            "book/intro.md has the front matter of a notebook",
        ),
    ],
)
def test_a_page_of_the_book_is_prose(toy, text, words):
    (toy.project.book / "intro.md").write_text(text, encoding="utf-8")
    found = page_faults(toy.project, ["coin", "words"])
    assert [fault.partition(":")[0] for fault in found] == ([words] if words else [])


def test_a_page_that_is_not_plain_text_or_has_another_name_is_a_sentence(toy):
    page = toy.project.book / "intro.md"
    page.write_text("# A page\nA sentence\u2028# More\n", encoding="utf-8")
    with refused(r"intro.md, line 2: U\+2028 \(line separator\)"):
        page_faults(toy.project, ["coin", "words"])
    page.rename(toy.project.book / "caf\u00e9.md")
    toy.edit("book/_toc.yml", "root: intro", "root: cafe\u0301")
    (fault,) = page_faults(toy.project, ["coin", "words"])
    assert "'caf\u00e9.md' looks the same, but its accented letters are encoded" in fault


def test_a_notebook_beside_a_page_is_one_fault(toy):
    (toy.project.book / "intro.bib").touch()
    assert page_faults(toy.project, ["coin", "words"]) == []
    (toy.project.book / "intro.ipynb").touch()
    (fault,) = page_faults(toy.project, ["coin", "words"])
    assert fault.startswith("book/intro.ipynb stands beside book/intro.md, and may be published")
    (toy.project.book / "intro.md").unlink()
    (fault,) = page_faults(toy.project, ["coin", "words"])
    assert fault.startswith("book/_toc.yml lists 'intro', but there is no book/intro.md. A page is")


def test_chapters_are_those_of_the_notebooks(toy):
    assert toc_chapters(toy.project) == ["coin", "words"]
    assert page_faults(toy.project, ["coin", "new"]) == [
        "book/_toc.yml lists chapters/words, but there is no notebooks/words.md.",
        "notebooks/new.md is not in book/_toc.yml: nobody would find it. Add `- file: "
        "chapters/new` there.",
    ]

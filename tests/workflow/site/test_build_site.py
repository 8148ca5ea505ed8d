"""What the drills reach only by building whole books: here nothing is executed, and Jupyter Book
only puts the sources together.
"""

import json
import shutil

import pytest

from ntpcompanion.workflow.base.files import files_below
from ntpcompanion.workflow.notebooks.contents import toc_pages
from ntpcompanion.workflow.running import execute as runner
from ntpcompanion.workflow.site import build_site as build
from ntpcompanion.workflow.site.build_site import build_site, prepare_pages
from tests.refusing import refused


def shown(part):
    """The HTML of a text, or of the outputs of a notebook."""
    if part.suffix == ".md":
        return part.read_text()
    outputs = [o for cell in json.loads(part.read_text())["cells"] for o in cell.get("outputs", [])]
    return "".join("".join(output["data"]["text/html"]) for output in outputs)


@pytest.fixture
def book(instant, monkeypatch):
    """The toy project, executed. A rendering takes no time, loses the pages `lost`, and then calls
    `meanwhile`.
    """
    instant.execute()
    instant.lost, instant.meanwhile = set(), lambda: None

    def render(project, source, html):
        made = html.with_name("made")
        shutil.rmtree(made, ignore_errors=True)
        for page in {*toc_pages(project), "index"} - instant.lost:
            parts = [
                source / f"{page}.md",
                source / f"{page}.ipynb",
                source / "chapters" / f"_{page}.md",
            ]
            (made / f"{page}.html").parent.mkdir(parents=True, exist_ok=True)
            texts = [shown(part) for part in parts if part.is_file()]
            (made / f"{page}.html").write_text(f"{''.join(texts)}</html>")
        instant.meanwhile()
        return made

    monkeypatch.setattr(build, "render", render)
    return instant


def test_a_site_with_a_fault_is_red_and_never_counts_as_made(book):
    book.lost = {"chapters/coin"}
    for _ in range(2):
        with refused(r"The site was built, but:\nchapters/coin.html is missing"):
            build_site(book.project, book.runs(), "book")
    assert not book.project.html("book").exists()
    book.lost = set()
    assert build_site(book.project, book.runs(), "book") == book.project.html("book")


EDITS = [
    ("book/claims.yml", "equals: 0.5", "equals: 0.9"),
    ("notebooks/coin.md", "Prose with", "Other prose with"),
    ("notebooks/profiles.yml", "n: 10", "n: 11"),
    ("toypkg/unrelated.py", "1", "2"),
]


def test_a_source_that_is_edited_during_a_build_ends_it_and_the_old_site_stays(book):
    book.command("build")
    page = book.project.html("book") / "intro.html"
    before = page.read_text()
    book.edit("book/intro.md", "# Intro", "# Another intro")
    for path, old, new in EDITS:

        def edit(path=path, old=old, new=new):
            book.edit(path, old, new)
            # the content at the end is that of the beginning
            book.edit(path, new, old)

        book.meanwhile = edit
        output = book.command("build", code=1)
        assert f"{path} was written while the book was built Build it again" in output
        assert page.read_text() == before
    book.meanwhile = lambda: book.edit("words.txt", "one", "one and")
    output = book.command("build", code=1)
    assert "words: inputs: text changed while the book was built Build it again" in output
    assert page.read_text() == before
    book.meanwhile = lambda: None
    book.command("build")
    assert "Another intro" in page.read_text()


def test_a_source_that_is_edited_while_notebooks_run_ends_the_build(book, monkeypatch):
    whole = runner._in_kernel

    def edit_and_run(*arguments):
        book.edit("notebooks/words.md", "# Words", "# Other words")
        return whole(*arguments)

    book.edit("notebooks/words.md", "import measure", "import measure  # again")
    monkeypatch.setattr(runner, "_in_kernel", edit_and_run)
    output = book.command("build", code=1)
    assert "words.md was written while the book was built" in output
    assert not book.project.html("book").exists()


def test_pages_of_another_profile_do_not_touch_the_book(book):
    assert prepare_pages(book.project, book.runs(), "book")[0] == book.project.book
    chapters = book.project.book / "chapters"
    assert (chapters / "_ledger.md").read_text().startswith("**3 claims** at profile *book*:")
    assert (chapters / "_status.md").read_text().startswith("Profile: *book*.")
    before = {path: path.read_bytes() for path in files_below(chapters)}
    book.execute("smoke")
    source, *_ = prepare_pages(book.project, book.runs("smoke"), "smoke")
    assert (
        (source / "chapters" / "_ledger.md")
        .read_text()
        .startswith("**3 claims** at profile *smoke*:")
    )
    assert (source / "chapters" / "_status.md").read_text().startswith("Profile: *smoke*.")
    assert {path: path.read_bytes() for path in files_below(chapters)} == before

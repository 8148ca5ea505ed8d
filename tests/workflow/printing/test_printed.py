"""A page as a document to print; the documents of a whole book are in test_pdf.py."""

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.printing.printed import book_title, documents


def test_a_page_without_an_article_is_named(tmp_path):
    (tmp_path / "a.html").write_text("<html><head><title>A &amp; B</title></head></html>")
    with pytest.raises(WorkflowError, match=r"a\.html holds no article\. Run `make book` again"):
        documents(tmp_path, ["a"])
    assert book_title(tmp_path, "a") == "A & B"


@pytest.mark.parametrize(
    ("said", "title"),
    [("Book &#8212; Book", "Book"), ("Page &#8212; Book", "Page — Book"), ("Book", "Book")],
)
def test_a_page_that_has_the_title_of_the_book_says_it_once(tmp_path, said, title):
    (tmp_path / "a.html").write_text(f"<title>{said}</title>")
    assert book_title(tmp_path, "a") == title

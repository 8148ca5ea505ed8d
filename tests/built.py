"""The pages of the smoke site, of which a few stand for their kind, and the book where there is
one.
"""

from pathlib import Path

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages
from tests.marks import rest_slow

# The landing page, a chapter with a figure to touch and one without, the ledger, a page of the
# package and one that a build makes: every kind of page that the book has.
KINDS = ("intro", "chapters/ntp_svm", "chapters/adam_limit", "ledger", "api/dyck", "theorems")


def pages():
    """Every page of the table of contents as a parameter of a test; those that stand for no kind
    are slow.
    """
    return rest_slow(toc_pages(Project.find()), KINDS)


def built_book() -> Path:
    """The folder of the book that was built here last; a test is skipped where there is none."""
    html = Project.find().html("book")
    if not (html / "index.html").is_file():
        pytest.skip("no book is built here; `make book` makes one")
    return html

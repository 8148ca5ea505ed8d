"""The book where one is built here."""

from pathlib import Path

import pytest

from ntpcompanion.workflow.base.project import Project


def built_book() -> Path:
    """The folder of the book that was built here last; a test is skipped where there is none."""
    html = Project.find().html("book")
    if not (html / "index.html").is_file():
        pytest.skip("no book is built here; `make book` makes one")
    return html

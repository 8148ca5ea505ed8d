"""The pages of the smoke site, of which a few stand for their kind."""

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages

# The landing page, a chapter with a figure to touch and theorems, the ledger, a page of the
# package and a plain page: every kind of page that the book has.
KINDS = ("intro", "chapters/ntp_svm", "ledger", "api/dyck", "notation")


def pages():
    """Every page of the table of contents as a parameter of a test; those that stand for no kind
    are slow.
    """
    return [
        page if page in KINDS else pytest.param(page, marks=pytest.mark.slow)
        for page in toc_pages(Project.find())
    ]

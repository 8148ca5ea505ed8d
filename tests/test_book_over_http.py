"""The tests of `test_book_from_disk` over http, each page first in a narrow window: a file of its
own, so that another process reads them meanwhile.
"""

import pytest

from tests.crawl import NARROW_FIRST, crawl, pages_of, served
from tests.test_book_from_disk import (
    pytestmark,
    site,
    test_a_reader_who_searches_finds_pages,
    test_every_page_is_read,
    test_nothing_to_complain_about_on_any_page,
)

__all__ = [
    "pytestmark",
    "site",
    "test_a_reader_who_searches_finds_pages",
    "test_every_page_is_read",
    "test_nothing_to_complain_about_on_any_page",
]


@pytest.fixture(scope="module")
def book(browser, site):
    with served(site) as address:
        yield crawl(browser, address, pages_of(site), NARROW_FIRST)

"""The pages of every kind: one of each in full, and that no text of any is markup."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tinyhtml5 import parse

from tests.workflow.pages.views import views

GOLDEN = Path(__file__).with_name("golden")
PLAIN = "Words of a text"
PAGES = views(PLAIN)


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_of_each_kind_is_as_it_was(kind):
    """`python -m tests.workflow.pages.test_templating` writes them: read the difference."""
    assert PAGES[kind] == (GOLDEN / kind).read_text(encoding="utf-8")


def elements(kind, text):
    """The elements of a page with their attributes, in their order; what MyST reads of its own
    besides CommonMark is text.
    """
    html = text if kind.endswith(".html") else MarkdownIt("commonmark").render(text)
    tree = parse(f"<!doctype html>{html}", namespace_html_elements=False)
    found = [(element.tag, *sorted(element.keys())) for element in tree.iter()]
    return [each for each in found if each != ("span", "class")]  # of a formula


MARKUP = ["<script>alert(1)</script>", "<b ", "-->", "<!--", "</details>", "&lt;", "&#60;b>", "]]>"]
MARKUP += ["**a**", "`b`", "{raw}", "# c", "$a<b$", "[d](e)", '" onload="f()', "' g='", "<", ">"]
TEXTS = st.lists(st.sampled_from([*MARKUP, "x", " y "]), min_size=1, max_size=6).map("".join)


@settings(max_examples=40)
@given(TEXTS.map(lambda text: f"a {text} z"))
def test_no_text_of_a_claim_a_record_or_a_file_is_live_html(text):
    for kind, page in views(text).items():
        assert elements(kind, page) == elements(kind, PAGES[kind]), kind


if __name__ == "__main__":
    for name, page in PAGES.items():
        (GOLDEN / name).write_text(page, encoding="utf-8")

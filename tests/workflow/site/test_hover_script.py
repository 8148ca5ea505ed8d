"""What is read on pointing at a reference, in a browser that reads pages made by hand from disk."""

import pytest

from tests.workflow.site.test_page_script import ASSETS

HEAD = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<title>A page</title><link rel="stylesheet" href="{ASSETS.as_uri()}/cards.css">
<script defer src="{ASSETS.as_uri()}/tips.js"></script></head><body><article>"""
LINKS = """<p><button>start</button> <a class="reference internal" id="cited" title="Tao. 2006."
href="../references.html#id1">Tao06</a> <a class="reference internal" id="here" href="#def-a">A</a>
<a class="reference internal" id="there" href="b.html#thm-b">B</a>
<a class="reference internal" id="nothing" href="#start">up</a></p><p id="start">Text.</p>"""
BOX = '<div class="proof definition admonition" id="def-a"><p id="inside">The first.</p></div>'


@pytest.fixture
def page(visit, tmp_path):
    (tmp_path / "chapters").mkdir()
    path = tmp_path / "chapters" / "a.html"
    path.write_text(HEAD + LINKS + BOX, encoding="utf-8")
    (tmp_path / "references.html").write_text(HEAD + '<p id="id1">Tao</p>')
    return visit(path.as_uri(), 390, 600)


@pytest.mark.parametrize(("link", "words"), [("cited", "Tao. 2006."), ("here", "The first.")])
def test_pointing_and_the_keyboard_show_what_is_referred_to(page, link, words):
    box = page.locator("#ntp-hover")
    assert not box.is_visible()
    page.locator(f"#{link}").hover()
    box.wait_for(state="visible")
    assert box.inner_text().strip() == words
    assert page.locator("#inside").count() == 1, "an anchor stands once"
    page.locator("button").hover()
    box.wait_for(state="hidden")
    page.locator(f"#{link}").focus()
    box.wait_for(state="visible")
    assert page.locator(f"#{link}").get_attribute("aria-describedby") == "ntp-hover"
    page.keyboard.press("Escape")
    assert not box.is_visible()
    assert page.locator(f"#{link}").get_attribute("aria-describedby") is None


def test_the_text_stays_while_it_is_pointed_at_and_inside_the_window(page):
    page.locator("#cited").hover()
    box = page.locator("#ntp-hover")
    box.wait_for(state="visible")
    box.hover()
    page.wait_for_timeout(400)
    assert box.is_visible()
    place = box.bounding_box()
    assert place["x"] >= 0
    assert place["x"] + place["width"] <= 390


def test_a_link_to_anything_else_shows_nothing_and_links_lead_on(page):
    for link in ("nothing", "there"):
        page.locator(f"#{link}").hover()
        page.wait_for_timeout(300)
        assert not page.locator("#ntp-hover").is_visible()
    page.locator("#cited").click()
    page.wait_for_url("**/references.html#id1")

"""What is read on pointing at a reference, in a browser that reads pages made by hand from disk."""

import pytest

from ntpcompanion.workflow.site.previews import boxes, write_previews
from tests.workflow.site.test_page_script import ASSETS

HEAD = f"""<!DOCTYPE html><html lang="en" data-content_root="../"><head><meta charset="utf-8">
<title>A page</title><link rel="stylesheet" href="{ASSETS.as_uri()}/cards.css">
<script defer src="{ASSETS.as_uri()}/tips.js"></script></head><body><article>"""
LINKS = """<p><button>start</button> <a class="reference internal" id="cited" title="Tao. 2006."
href="../references.html#id1">Tao06</a> <a class="reference internal" id="here" href="#def-a">A</a>
<a class="reference internal" id="there" href="Zürich.html#thm-b">B</a>
<a class="reference internal" id="nothing" href="#start">up</a></p><p id="start">Text.</p>"""
BOX = '<div class="proof {kind} admonition" id="{id}"><p id="inside">{text}</p></div>'


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    root = tmp_path_factory.mktemp("a site")
    (root / "chapters").mkdir()
    own = BOX.format(kind="definition", id="def-a", text="The first.")
    other = BOX.format(kind="theorem", id="thm-b", text="The second.")
    (root / "chapters" / "a.html").write_text(HEAD + LINKS + own, encoding="utf-8")
    (root / "chapters" / "Zürich.html").write_text(HEAD + other, encoding="utf-8")
    (root / "references.html").write_text(HEAD + '<p id="id1">Tao</p>')
    write_previews(root)
    return root


@pytest.fixture
def page(visit, site):
    return visit((site / "chapters" / "a.html").as_uri(), 390, 600)


@pytest.mark.parametrize(
    ("link", "words"), [("cited", "Tao. 2006."), ("here", "The first."), ("there", "The second.")]
)
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


def test_a_link_to_plain_text_shows_nothing_and_links_lead_on(page):
    page.locator("#nothing").hover()
    page.wait_for_timeout(300)
    assert not page.locator("#ntp-hover").is_visible()
    page.locator("#cited").click()
    page.wait_for_url("**/references.html#id1")


PAGE = """<html><div class="section"><div class="proof definition admonition" id="def-a">
<p class="admonition-title"><span>Definition 1</span></p><div class="inner" id="x">
Let <a class="reference" href="b.html#c">it</a> be.</div></div><p>After.</p>
<div class="proof theorem admonition" id="thm-b">B</div><div class="admonition" id="note">No</div>
</div></html>"""


def test_boxes_are_whole_and_lead_nowhere():
    found = boxes(PAGE)
    assert set(found) == {"def-a", "thm-b"}
    assert found["thm-b"] == "B"
    assert found["def-a"].startswith('<p class="admonition-title"><span>Definition 1</span></p>')
    assert found["def-a"].endswith("be.</div>")
    assert "<a" not in found["def-a"]
    assert "id=" not in found["def-a"]


def test_one_script_holds_those_of_all_pages(tmp_path):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "a.html").write_text(PAGE)
    (tmp_path / "plain.html").write_text("<html></html>")
    write_previews(tmp_path)
    script = (tmp_path / "_static" / "previews.js").read_text()
    assert script.startswith('window.ntpPreviews = {"chapters/a.html#def-a": "<p class=')
    assert '"chapters/a.html#thm-b": "B"};' in script

"""What a chapter's script does, in a browser that reads a page made by hand from disk."""

import pytest

from ntpcompanion.workflow.site.look import ASSETS

HEAD = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<link rel="stylesheet" href="{assets}/cards.css"><script defer src="{assets}/page.js"></script>
</head><body><div class="article-header-buttons"><button>other</button></div><article>"""
STRIP = """<p>Long text.</p><div style="height: 3000px"></div>
<details class="ntp-strip"><summary>1 more claim</summary>
<details class="ntp-card" id="claim-a"><summary>A</summary><p>why</p></details></details>"""
FOLD = "<details class='hide above-input'><summary>Show code</summary><pre>a</pre></details>"
CODE = f"<h2>One</h2>{FOLD}<p>Then.</p>{FOLD}<a href='#claim-a'>A</a>"


@pytest.fixture
def page(visit, tmp_path):
    """A function: a page with that body, opened from disk."""

    def show(body, fragment=""):
        path = tmp_path / "page.html"
        path.write_text(HEAD.format(assets=ASSETS.as_uri()) + body, encoding="utf-8")
        return visit(path.as_uri() + fragment, 900, 700)

    return show


def opened(page):
    return page.eval_on_selector_all(".above-input", "folds => folds.map(fold => fold.open)")


def test_one_switch_opens_all_code_and_is_remembered(page):
    first = page(CODE + STRIP)
    switch = first.get_by_role("button", name="Show code")
    assert opened(first) == [False, False]
    assert switch.get_attribute("aria-pressed") == "false"
    assert first.evaluate("document.querySelector('.article-header-buttons button').textContent")
    switch.press("Enter")
    assert opened(first) == [True, True]
    assert switch.get_attribute("aria-pressed") == "true"
    assert opened(page(CODE + STRIP)) == [True, True], "the next page starts open"
    switch.click()
    assert opened(first) == [False, False]
    assert opened(page(CODE + STRIP)) == [False, False]


def test_a_page_whose_memory_is_refused_still_opens_its_code(page):
    rejected = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('no') }})"
    shown = page(f"<script>{rejected}</script>{CODE}")
    shown.get_by_role("button", name="Show code").click()
    assert opened(shown) == [True, True]


@pytest.mark.parametrize("follow", [True, False])
def test_a_link_to_a_card_opens_its_strip_and_the_card(page, follow):
    shown = page(CODE + STRIP, "" if follow else "#claim-a")
    if follow:
        shown.locator("a").click()
    shown.wait_for_function("document.getElementById('claim-a').open")
    assert shown.locator("#claim-a p").is_visible()
    shown.wait_for_function("document.getElementById('claim-a').getBoundingClientRect().top < 700")


def test_paper_shows_every_claim_and_proof_and_no_code(page):
    shown = page(
        CODE + STRIP + "<details class='sd-dropdown'><summary>Proof</summary>So.</details>"
    )
    shown.get_by_role("button", name="Show code").click()
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    shown.emulate_media(media="print")
    assert shown.locator("#claim-a > summary").is_visible()
    assert not shown.locator("#claim-a p").is_visible()
    assert shown.locator(".sd-dropdown").evaluate("proof => proof.open")
    assert not shown.locator(".above-input").first.is_visible()
    assert not shown.get_by_role("button", name="Show code").is_visible()

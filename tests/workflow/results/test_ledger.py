import re
import shutil
from collections import Counter

import pytest

from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.results.ledger import ledger_page
from ntpcompanion.workflow.results.references import read_papers
from ntpcompanion.workflow.site.look import ASSETS
from tests.browsing import needs_browser
from tests.toy import write_claims
from tests.workflow.claims.test_baselines import result

MACHINE = {"processor": "a processor", "cores": 2}


def page(toy, **values):
    made = result("coin", **values)
    made.hardware.update(MACHINE)
    titles = {name: notebook.title for name, notebook in find_notebooks(toy.project).items()}
    results = {"coin": made} if values else {}
    papers = read_papers(toy.project)
    return ledger_page(load_claims(toy.project), results, titles, papers, "book")


def test_counts_rows_and_machine(toy):
    text = page(toy, toy_half=0.5, toy_powers=[2.0, 1.0])
    assert text.startswith("**3 claims** at profile *book*:")
    heads = re.findall(r'<th scope="col">([^<]*)</th>', text)
    assert heads == ["Whose claim", "supported", "refuted", "not measured"]
    assert '<a class="ntp-view" href="#kind=stated&amp;verdict=refuted">1</a>' in text
    assert text.count("a processor") == 1, "the machine is told once"
    assert (
        '<a class="ntp-locator" href="chapters/coin.html#claim-toy_half">Theorem 1</a> · A coin'
        in text
    )
    assert r"One half is <span class=\"mathjax_process\">\(1/2\)".replace('\\"', '"') in text
    assert '<span class="ntp-label">ours</span> <strong>0.5</strong>' in text
    assert 'Theorem 1 <span class="ntp-tally">1 supported, 1 refuted (stated), 1 not ' in text


def test_every_claim_has_one_row_whose_marks_an_independent_count_confirms(toy):
    write_claims(toy.project, kind="ours", basis="derived", scope="smaller")
    text = page(toy, toy_half=0.9, toy_powers=[1.0, 2.0])
    rows = dict(re.findall(r'<li class="ntp-row" id="row-(\w+)"([^>]*)>', text))
    assert sorted(rows) == ["toy_half", "toy_powers", "toy_words"]
    kinds = Counter(re.findall(r'data-(?:kind|basis|scope|verdict)="([^"]*)"', text))
    assert kinds == {
        "ours": 1, "stated": 2, "derived": 1, "text": 2, "smaller": 1, "same": 2,
        "refuted": 1, "supported": 1, "not measured": 1,
    }  # fmt: skip
    assert 'data-effect="-3"' in rows["toy_half"]


def test_nothing_measured_is_said(toy):
    text = page(toy)
    assert "Nothing was measured yet" in text
    assert text.count("<strong>–</strong>") == 3


def test_texts_of_claims_are_no_html(toy):
    write_claims(toy.project, statement="<b>bold</b> & `code`", locator="Lemma <1>, x")
    text = page(toy, toy_half=0.5)
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; `code`" in text
    assert "Lemma &lt;1&gt;" in text
    assert "<b>" not in text


@pytest.fixture
def opened(toy, tmp_path, browser):
    """A function: the ledger of the toy project, opened from disk at an address."""
    write_claims(toy.project, kind="ours", locator="Section 3, a wish")
    text = page(toy, toy_half=0.9, toy_powers=[2.0, 1.0])
    html = text.partition("````{raw} html\n")[2].rpartition("\n````")[0]
    site = tmp_path / "site"
    (site / "_static").mkdir(parents=True)
    for name in ("ledger.js", "ledger.css", "companion.css"):
        shutil.copy(ASSETS / name, site / "_static")
    (site / "ledger.html").write_text(f'<!DOCTYPE html><meta charset="utf-8"><h1>x</h1>{html}')
    faults, tabs = [], []

    def open_at(address="", **options):
        tab = browser.new_page(**options)
        tabs.append(tab)
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.goto(f"{(site / 'ledger.html').as_uri()}{address}")
        return tab

    yield open_at
    for tab in tabs:
        tab.close()
    assert faults == []


def shown(tab):
    """The claims whose rows are not hidden, in the order of the page."""
    ids = "[...document.querySelectorAll('.ntp-row')].filter(r => !r.hidden).map(r => r.id)"
    return tab.evaluate(ids)


def seen(tab):
    ids = (
        "[...document.querySelectorAll('.ntp-row')].filter(r => r.checkVisibility()).map(r => r.id)"
    )
    return tab.evaluate(ids)


@needs_browser
def test_filters_narrow_the_rows_and_stand_in_the_address(opened):
    tab = opened()
    assert shown(tab) == ["row-toy_powers", "row-toy_words", "row-toy_half"]
    assert seen(tab) == [], "groups are folded"
    tab.select_option("select[name=verdict]", "refuted")
    assert seen(tab) == ["row-toy_powers", "row-toy_half"]
    tab.select_option("select[name=kind]", "ours")
    assert seen(tab) == ["row-toy_half"]
    assert tab.evaluate("location.hash") == "#kind=ours&verdict=refuted"
    assert tab.inner_text("output") == "1 of 3 claims"
    tab.click("button[type=reset]")
    tab.wait_for_function("document.querySelector('output').textContent === '3 of 3 claims'")
    assert tab.evaluate("location.hash") == ""
    assert seen(tab) == [], "what a filter opened is folded again"


@needs_browser
def test_an_address_that_was_sent_shows_the_same_view(opened):
    tab = opened("#chapter=words&text=theorem+1")
    assert seen(tab) == ["row-toy_words"]
    assert tab.input_value("select[name=chapter]") == "words"
    assert tab.input_value("input[name=text]") == "theorem 1"
    tab.evaluate("location.hash = '#kind=ours&verdict=refuted'")
    tab.wait_for_function("document.querySelector('output').textContent === '1 of 3 claims'")
    assert seen(tab) == ["row-toy_half"]
    assert seen(opened("#kind=nonsense")) == [], "an unknown value filters nothing"


@needs_browser
def test_a_search_needs_all_of_its_words_anywhere_in_a_row(opened):
    tab = opened()
    tab.fill("input[name=text]", "WISH half")
    assert seen(tab) == ["row-toy_half"]
    tab.fill("input[name=text]", "wish whole")
    assert shown(tab) == []


@needs_browser
def test_rows_sort_by_effect_and_locator_in_one_list(opened):
    tab = opened("#sort=effect")
    order = "[...document.querySelectorAll('#ntp-flat .ntp-row')].map(r => r.id)"
    assert tab.evaluate(order)[0] == "row-toy_half", "the miss first, what has no effect last"
    tab.select_option("select[name=sort]", "locator")
    assert tab.evaluate(order)[0] == "row-toy_half", "Section before Theorem"
    tab.select_option("select[name=sort]", "result")
    assert tab.evaluate(order) == []
    assert shown(tab) == ["row-toy_powers", "row-toy_words", "row-toy_half"]


@needs_browser
def test_a_link_to_a_row_opens_its_group(opened):
    assert seen(opened("#row-toy_half")) == ["row-toy_half"]


@needs_browser
def test_the_keyboard_reaches_filters_counts_and_rows(opened):
    tab = opened()
    tab.focus("a.ntp-view")
    reached = set()
    for _ in range(40):
        tab.keyboard.press("Tab")
        at = "(e => e.name || e.type || e.localName)(document.activeElement)"
        reached.add(tab.evaluate(at))
    assert {"text", "paper", "verdict", "sort", "reset", "unfold", "summary"} <= reached
    tab.focus(".ntp-group summary")
    tab.keyboard.press("Enter")
    assert len(seen(tab)) > 0


@needs_browser
def test_without_scripts_the_list_is_whole_and_there_is_no_form(opened):
    tab = opened(java_script_enabled=False)
    assert tab.locator(".ntp-row").count() == 3
    assert not tab.locator("#ntp-filters").is_visible()
    tab.locator(".ntp-group summary").first.click()
    assert tab.locator("#row-toy_powers").is_visible()


@needs_browser
def test_rows_become_blocks_on_a_narrow_screen(opened):
    tab = opened("#verdict=refuted", viewport={"width": 390, "height": 800})
    cells = "[...document.querySelector('#row-toy_half').children]"
    assert len(set(tab.evaluate(f"{cells}.map(cell => cell.getBoundingClientRect().left)"))) == 1
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390

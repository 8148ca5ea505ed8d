"""The ledger and the figures to touch on the built pages, by keyboard alone."""

import sys
from urllib.parse import urldefrag

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.pages.figures import known_widgets
from tests.smoke import smoke_site

pytestmark = pytest.mark.slow

NAMES = known_widgets(Project.find().book)
MOST = 200  # stops of a path: more are a trap
SCROLLERS = 5  # stops that a browser adds: boxes that scroll
# the last stop before an element, as Tab would leave it
STEP_BEFORE = """root => {
  const kinds = "a[href], button, input, select, summary, [tabindex]";
  for (const stop of [...document.querySelectorAll(kinds)].reverse()) {
    const before = root.compareDocumentPosition(stop) === Node.DOCUMENT_POSITION_PRECEDING;
    if (before && stop.tabIndex >= 0) stop.focus();
    if (document.activeElement === stop) return;
  }
}"""
STOP = """() => {
  const at = document.activeElement, look = getComputedStyle(at), knob = at.querySelector(".knob");
  const outlined = look.outlineStyle !== "none" && parseFloat(look.outlineWidth) >= 1;
  return {
    name: at.name || at.getAttribute("aria-label") || at.textContent.trim().slice(0, 40),
    kind: at.getAttribute("role") || (at.localName === "input" ? at.type : at.localName),
    seen: at.matches(":focus-visible") && at.checkVisibility() &&
      (outlined || Boolean(knob) && parseFloat(getComputedStyle(knob).strokeWidth) >= 3),
  };
}"""
INSIDE = "root => root.contains(document.activeElement)"
STATE = "root => root.ntpState"
SHOWN = """root => JSON.stringify(
    [root.ntpState, ...[...root.querySelectorAll(".ntp-plot svg")].map(plot => plot.innerHTML)])"""


@pytest.fixture(scope="module")
def site():
    return smoke_site()


@pytest.fixture
def opened(visit, site):
    """A function that opens a page of the site from disk."""

    def opening(name):
        page = visit(f"{site.as_uri()}/{name}", whole=True, reduced_motion="reduce")
        page.evaluate("() => window.MathJax?.startup?.promise")
        return page

    return opening


def tab_to(page, selector):
    """Press Tab until what `selector` names has the focus, which is seen at each stop."""
    for _ in range(MOST):
        page.keyboard.press("Tab")
        stop = page.evaluate(STOP)
        if page.evaluate("where => document.activeElement.matches(where)", selector):
            assert stop["seen"], f"nobody sees the focus on {stop}"
            return
    pytest.fail(f"{MOST} stops and none is {selector}")


def rows(page, field="id"):
    """What the rows that are shown say of themselves, from top to bottom."""
    seen = "[...document.querySelectorAll('.ntp-row')].filter(row => row.checkVisibility())"
    return page.evaluate(f"field => {seen}.map(row => row.dataset[field] ?? row.id)", field)


def test_the_ledger_is_searched_and_filtered(opened):
    page = opened("ledger.html")
    count = page.locator("#ntp-filters output")
    whole = count.inner_text()
    tab_to(page, "input[name=text]")
    page.keyboard.type("adam")
    found = rows(page)
    assert count.inner_text().startswith(f"{len(found)} of ")
    assert 0 < len(found) < int(whole.split()[0])
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.press("Delete")
    assert count.inner_text() == whole

    tab_to(page, "select[name=verdict]")
    page.keyboard.type("refuted")
    refuted = rows(page)
    assert refuted
    assert set(rows(page, "verdict")) == {"refuted"}
    assert urldefrag(page.url).fragment == "verdict=refuted"


def test_rows_of_the_ledger_lead_to_their_cards_and_to_themselves(opened):
    page = opened("ledger.html#verdict=refuted")
    shown = rows(page)
    tab_to(page, ".ntp-row a.ntp-locator")
    page.keyboard.press("Enter")
    page.wait_for_url("**/chapters/*.html#claim-*")
    card = page.locator(f"[id='{urldefrag(page.url).fragment}']")
    card.wait_for(state="visible")
    page.go_back()
    page.wait_for_url("**/ledger.html#verdict=refuted")
    assert rows(page) == shown, "a reader who comes back finds the same view"

    tab_to(page, ".ntp-row a.ntp-anchor")
    own = page.evaluate("document.activeElement.closest('.ntp-row').id")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/ledger.html#{own}")
    assert own in rows(page)
    assert page.locator(".ntp-row:not([hidden])").count() > len(shown), "no filter is left"


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_reached_operated_and_left(opened, site, name):
    (chapter,) = [
        path.relative_to(site).as_posix()
        for path in sorted((site / "chapters").glob("*.html"))
        if f'data-widget="{name}"' in path.read_text(encoding="utf-8")
    ]
    page = opened(chapter)
    root = page.locator(f'[data-widget="{name}"]')
    first, moved = root.evaluate(STATE), 0
    root.evaluate(STEP_BEFORE)
    for _ in range(SCROLLERS):
        page.keyboard.press("Tab")
        if root.evaluate(INSIDE):
            break
    for _ in range(MOST):
        assert root.evaluate(INSIDE), f"not in the figure, but at {page.evaluate(STOP)}"
        stop, before = page.evaluate(STOP), root.evaluate(SHOWN)
        assert stop["seen"], f"nobody sees the focus on {stop}"
        if key := key_for(stop["kind"]):
            page.keyboard.press(key)
            if root.evaluate(SHOWN) == before:  # it was at its end
                page.keyboard.press({"ArrowRight": "ArrowLeft", "ArrowDown": "ArrowUp"}[key])
            assert root.evaluate(SHOWN) != before, f"{key} moves nothing at {stop}"
            moved += 1
        last = stop
        page.keyboard.press("Tab")
        if not root.evaluate(INSIDE):
            break
    else:
        pytest.fail("Tab does not lead out of the figure")
    assert moved > 0
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(STOP)["name"] == last["name"] == "Reset"
    page.keyboard.press("Enter")
    assert root.evaluate(STATE) == first


def key_for(kind):
    """The key that changes an input of this kind; None for what is pressed."""
    if kind in ("slider", "range"):
        return "ArrowRight"
    # on a Mac it opens a menu of the system
    return "ArrowDown" if kind == "select" and sys.platform != "darwin" else None

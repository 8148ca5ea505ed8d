"""The real book, rendered from its smoke run and read as a browser reads it, from disk, at desktop and phone width."""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from ntpcompanion.workflow.notebooks import toc_pages
from ntpcompanion.workflow.project import Project
from tests.smoke import smoke_site

BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
LOCAL = ("file:", "data:", "blob:", "about:")

pytestmark = pytest.mark.skipif(
    BROWSER is None and not os.environ.get("CI"), reason="no Chromium on this machine; on Debian: apt-get install chromium"
)


@pytest.fixture(scope="module")
def crawled():
    """Complaints per page and width: requests that leave the disk, script errors, unset mathematics, overflow, missing alt text."""
    assert BROWSER, "Chromium is needed under CI: apt-get install chromium"
    site = smoke_site()
    complaints = {}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=FLAGS)
        for width in (1280, 390):
            page = browser.new_page(viewport={"width": width, "height": 900})
            heard = []
            page.on("console", lambda m, heard=heard: heard.append(m.text) if m.type in ("error", "warning") else None)
            page.on("pageerror", lambda e, heard=heard: heard.append(str(e)))
            page.on("request", lambda r, heard=heard: None if r.url.startswith(LOCAL) else heard.append(f"request leaves: {r.url}"))
            for name in toc_pages(Project.find()):
                heard.clear()
                page.goto(f"file://{site}/{name}.html", wait_until="load")
                page.wait_for_function("!window.MathJax?.startup?.promise || window.MathJax.startup.promise.then(() => true)")
                complaints[name, width] = [*heard, *_faults(page, site / f"{name}.html")]
            page.close()
        browser.close()
    return complaints


def _faults(page, path: Path) -> list[str]:
    found = page.evaluate("""() => ({
        'images without alt text': [...document.querySelectorAll('article img')].filter(i => !i.alt || /\\.(svg|png)$/.test(i.alt)).length,
        'formulas not set': [...document.querySelectorAll('article .math')].filter(e => !e.querySelector('mjx-container')).length,
        'formulas in error': document.querySelectorAll('mjx-merror, .problematic').length,
        'pixels wider than the window': Math.max(0, document.documentElement.scrollWidth - window.innerWidth - 2),
    })""")
    targets = page.evaluate("[...document.querySelectorAll('a[href]')].map(a => a.href).filter(h => h.startsWith('file:'))")
    dead = sorted({t for t in targets if not Path(page.evaluate("u => decodeURIComponent(new URL(u).pathname)", t)).exists()})
    return [f"{count} {what}" for what, count in found.items() if count] + [f"dead link {target}" for target in dead]


def test_nothing_to_complain_about(crawled):
    assert {key: value for key, value in crawled.items() if value} == {}


def test_every_page_was_seen_and_carries_the_smoke_warning(crawled):
    assert len(crawled) == 2 * len(toc_pages(Project.find()))
    for chapter in (smoke_site() / "chapters").glob("*.html"):
        assert "Its numbers are not results" in chapter.read_text(encoding="utf-8")

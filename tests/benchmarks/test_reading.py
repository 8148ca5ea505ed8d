"""How long a reader waits for a readable page, from disk and with nothing in the browser's memory.

Each page is compared with itself without what this book adds to Jupyter Book's theme: its scripts,
styles and data. Both are opened in turn, each time by a browser of its own with an empty profile.
"""

import json
import os
import re

import numpy as np
import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware, hardware_line
from tests.browsing import BROWSER, FLAGS, PATIENCE, needs_browser
from tests.built import KINDS
from tests.smoke import smoke_site

LIMIT, REPEATS = 2.0, 5  # seconds; times each page is opened
ASSETS = Project.find().book / "assets"
MEASURED = ("first paint (s)", "readable (s)", "processor (s)")
# first paint of content; formulas set and typefaces there: seconds since the page was asked for
WAITED = """async () => {
  await window.MathJax?.startup?.promise;
  await document.fonts.ready;
  const readable = performance.now();
  const painted = () => performance.getEntriesByName("first-contentful-paint")[0];
  while (!painted()) await new Promise(requestAnimationFrame);
  return [painted().startTime / 1000, readable / 1000];
}"""


def without_ours(html):
    """A page as Jupyter Book would make it."""
    names = [path for path in ASSETS.rglob("*") if path.suffix in (".js", ".css")]
    ours = "|".join(re.escape(path.relative_to(ASSETS).as_posix()) for path in names)
    added = [
        rf'<script[^>]* src="[^"]*_static/(?:{ours})(?:\?[^"]*)?"[^>]*></script>',
        rf'<link[^>]* href="[^"]*_static/(?:{ours})(?:\?[^"]*)?"[^>]*>',
        r'<script type="application/json"[^>]*>.*?</script>',
    ]
    return re.sub("|".join(added), "", html, flags=re.DOTALL)


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """The smoke site, and a folder with the same pages without what the book adds."""
    site, plain = smoke_site(), tmp_path_factory.mktemp("plain")
    for shared in ("_static", "searchindex.js"):
        (plain / shared).symlink_to(site / shared)
    for page in KINDS:
        html, target = (site / f"{page}.html").read_text(encoding="utf-8"), plain / f"{page}.html"
        target.parent.mkdir(exist_ok=True)
        target.write_text(without_ours(html), encoding="utf-8")
        assert len(target.read_text(encoding="utf-8")) < len(html)
    return site, plain


def waited(play, address):
    """Seconds to the first paint, to a readable page and of the processor for it, in a browser that
    was never used.
    """
    with play.chromium.launch(executable_path=BROWSER, args=FLAGS) as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE)
        work = page.context.new_cdp_session(page)
        work.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(address, wait_until="commit")
        page.wait_for_load_state("domcontentloaded")
        found = page.evaluate(WAITED)
        metrics = work.send("Performance.getMetrics")["metrics"]
        (used,) = [each["value"] for each in metrics if each["name"] == "TaskDuration"]
        return [*found, used]


@needs_browser
@pytest.mark.benchmark
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", KINDS)
def test_a_page_is_readable_within_two_seconds(sites, page):
    from playwright.sync_api import sync_playwright

    addresses = [(site / f"{page}.html").as_uri() for site in sites]
    with sync_playwright() as play:
        turns = [[waited(play, address) for address in addresses] for _ in range(REPEATS)]
    ours, plain = np.median(turns, axis=0).round(2).tolist()
    found = {
        "page": page,
        **dict(zip(MEASURED, ours, strict=True)),
        "plain Jupyter Book": dict(zip(MEASURED, plain, strict=True)),
        "load": round(os.getloadavg()[0], 1),
        "machine": hardware_line(hardware()),
    }
    print(f"\n{json.dumps(found)}")
    assert ours[1] <= LIMIT

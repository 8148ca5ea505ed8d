"""The policy of a page, as a browser enforces it."""

import base64
import hashlib

from ntpcompanion.workflow.site.security import policy, with_policy
from tests.browsing import needs_browser

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<style>p { color: red }</style><script>document.documentElement.dataset.own = "ran";</script>
<script type="application/json">{"a": "<b onclick='x'>"}</script></head>
<body><p id="p" style="margin: 1px">x</p>
<button onclick="document.body.dataset.pressed = &quot;yes&quot;">press</button>
<script src="file.js"></script></body></html>"""


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_scripts_of_a_page_are_allowed_by_their_hash_and_data_is_none():
    sources = policy(PAGE).split("script-src ")[1].split(";")[0].split()
    assert sources == [
        "'self'",
        digest('document.documentElement.dataset.own = "ran";'),
        "'unsafe-hashes'",
        digest('document.body.dataset.pressed = "yes"'),
    ]


def test_a_second_time_changes_nothing_and_a_changed_script_gets_its_own_hash():
    once = with_policy(PAGE)
    assert with_policy(once) == once
    other = with_policy(once.replace('"ran"', '"walked"'))
    assert other.count("Content-Security-Policy") == 1
    assert digest('document.documentElement.dataset.own = "walked";')[1:-1] in other


def test_a_piece_of_a_template_is_left_alone():
    assert with_policy("<script>1</script>") == "<script>1</script>"


@needs_browser
def test_a_browser_runs_what_shipped_and_nothing_that_was_added(browser, tmp_path):
    (tmp_path / "file.js").write_text('document.body.dataset.file = "ran";', encoding="utf-8")
    sealed = with_policy(PAGE)
    added = '<script>document.body.dataset.added = "ran"</script><img src="https://example.org/x">'
    (tmp_path / "page.html").write_text(sealed.replace("</body>", f"{added}</body>"))
    page, said, failed = browser.new_page(), [], {}
    page.on("console", lambda message: said.append(message.text))
    page.on("requestfailed", lambda asked: failed.update({asked.url: asked.failure}))
    page.goto((tmp_path / "page.html").as_uri())
    page.click("button")
    data = page.evaluate("({...document.documentElement.dataset, ...document.body.dataset})")
    colour = page.evaluate("getComputedStyle(document.querySelector('#p')).color")
    assert data == {"own": "ran", "file": "ran", "pressed": "yes"}
    assert colour == "rgb(255, 0, 0)"
    assert failed == {"https://example.org/x": "csp"}
    assert len(said) == 2
    assert all("Content Security Policy" in text for text in said)

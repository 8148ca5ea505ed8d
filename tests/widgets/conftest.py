from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl
import pytest
from playwright.sync_api import expect

from tests.widgets.page import TOO_WIDE, write_page

mpl.use("agg")


@pytest.fixture
def opened(browser, tmp_path):
    """`with opened(widget) as page`: its page, from disk; whatever a script or the console says is
    wrong fails the test, unless a list `faults` is given to take it.
    """

    @contextmanager
    def opening(
        widget, *, scripts=None, width=800, media="screen", faults=None, **context
    ) -> Iterator:
        path = tmp_path / "chapters" / "page.html"
        if not path.exists():
            write_page(tmp_path, widget, scripts)
        context = browser.new_context(
            viewport={"width": width, "height": 900}, offline=True, **context
        )
        page, heard = context.new_page(), [] if faults is None else faults
        page.on("pageerror", lambda error: heard.append(f"script error: {error}"))
        page.on("console", lambda message: heard.append(message.text))
        page.emulate_media(media=media)
        page.goto(path.as_uri())
        try:
            yield page
            assert page.evaluate(TOO_WIDE) == []
        finally:
            context.close()
        assert faults is not None or heard == []

    return opening


@pytest.fixture
def shown_as_picture(opened):
    """A function: in print and without scripts the picture of that name stands for a widget."""

    def check(widget, name):
        with opened(widget, media="print") as page:
            expect(page.get_by_role("img", name=name)).to_be_visible()
            expect(page.locator(".ntp-widget-live")).to_be_hidden()
        with opened(widget, java_script_enabled=False) as page:
            expect(page.get_by_role("img", name=name)).to_be_visible()

    return check

import os

import pytest

from ntpcompanion.workflow.base import browser
from ntpcompanion.workflow.base.browser import find_browser


@pytest.mark.skipif(os.name == "nt", reason="a file without an ending is not a program there")
def test_the_first_browser_on_path_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_browser() is None
    for name in ("chrome", "chromium"):
        (tmp_path / name).touch(mode=0o755)
        assert find_browser() == str(tmp_path / name)


def test_a_page_is_opened_where_there_is_a_display(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(browser.webbrowser, "open", lambda uri: opened.append(uri) or True)
    monkeypatch.setattr(browser.sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not browser.open_page(tmp_path / "a page.html")
    assert opened == []
    monkeypatch.setenv("DISPLAY", ":0")
    assert browser.open_page(tmp_path / "a page.html")
    assert opened == [(tmp_path / "a%20page.html").as_uri().replace("%2520", "%20")]
    monkeypatch.setattr(browser.webbrowser, "open", lambda uri: False)
    assert not browser.open_page(tmp_path / "a page.html")

import os

import pytest

from ntpcompanion.workflow.base.browser import find_browser


@pytest.mark.skipif(os.name == "nt", reason="a file without an ending is not a program there")
def test_the_first_browser_on_path_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_browser() is None
    for name in ("chrome", "chromium"):
        (tmp_path / name).touch(mode=0o755)
        assert find_browser() == str(tmp_path / name)

"""The browser of this machine, which reads and prints the built pages."""

import shutil

BROWSERS = ("chromium", "google-chrome", "chrome")


def find_browser() -> str | None:
    """The path of a browser that can read the built pages, None if there is none on PATH."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)

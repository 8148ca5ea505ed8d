"""The browser of this machine, which reads and prints the built pages, or shows one to its user."""

import os
import shutil
import sys
import webbrowser
from pathlib import Path

BROWSERS = ("chromium", "google-chrome", "chrome")


def find_browser() -> str | None:
    """The path of a browser that can read the built pages, None if there is none on PATH."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def open_page(page: Path) -> bool:
    """Show a page in the user's browser; whether that could be asked for.

    Not without a display, as over ssh: what would start there is a browser in the terminal.
    """
    displays = ("DISPLAY", "WAYLAND_DISPLAY")
    if sys.platform not in ("darwin", "win32") and not any(map(os.environ.get, displays)):
        return False
    try:
        return webbrowser.open(page.as_uri())
    except webbrowser.Error:
        return False

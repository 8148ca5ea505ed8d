"""Definitions and theorems of all pages in one script, for the reader who points at a reference.

A page that is read from disk may fetch nothing, but it may load a script: `tips.js` loads this one
when somebody first points at a definition of another page.
"""

import json
import re
from pathlib import Path

from ntpcompanion.workflow.base.files import write_atomically

FILE = "previews.js"  # among the static files of a site
_BOX = re.compile(r'<div class="proof [^"]*" id="([^"]+)">')
_DIV = re.compile(r"<(/?)div\b")
# links and anchors of another page lead astray here
_LINKS = re.compile(r'</?a\b[^>]*>|(?<=\s)id="[^"]*"')


def write_previews(html: Path) -> None:
    """Write the script of a rendered site."""
    previews = {
        f"{path.relative_to(html).as_posix()}#{name}": box
        for path in sorted(html.rglob("*.html"))
        for name, box in boxes(path.read_text(encoding="utf-8")).items()
    }
    script = f"window.ntpPreviews = {json.dumps(previews, ensure_ascii=False)};\n"
    write_atomically(html / "_static" / FILE, script)


def boxes(page: str) -> dict[str, str]:
    """The numbered statements of a page as HTML, by their anchors."""
    return {
        match[1]: _LINKS.sub("", page[match.end() : _end(page, match.end())]).strip()
        for match in _BOX.finditer(page)
    }


def _end(page: str, start: int) -> int:
    """Where the element ends whose content begins at `start`."""
    depth = 1
    for tag in _DIV.finditer(page, start):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return tag.start()
    return len(page)

"""The whole book as one PDF: its pages in one document, printed by a headless browser (`make pdf`).

The document is made from the built site, so it shows the same numbers, figures and cards. A link to
another page of the book leads to its place in the document; the browser makes the outline from the
headings, and the page numbers.
"""

import posixpath
import re
import shutil
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path

from ntpcompanion.workflow.base.browser import find_browser
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages

LIMIT = 1800  # seconds for the browser: minutes, or many on a busy machine
SETTING = 300_000  # milliseconds of its own clock for the mathematics: it does not wait them out
# The document hides what is for a screen only. The space before a page's heading is for Chromium,
# which names a heading twice in the outline where nothing stands above it on the sheet.
STYLE = """
@page { size: A4; margin: 18mm 16mm 20mm; @bottom-center { content: counter(page); } }
html { font-size: 10.5pt; }
section.ntp-page { break-before: page; }
section.ntp-page:first-of-type { break-before: auto; }
section.ntp-page::before { content: "\\200b"; font-size: 1px; }
.headerlink, .ntp-code { display: none !important; }
figure, table, .ntp-card, div.proof > p.admonition-title { break-inside: avoid; }
h1, h2, h3 { break-after: avoid; }
"""
# Opened in the document: folded proofs, strips of claims, and how records were made. Cards and code
# stay folded.
_OPENED = re.compile(
    r'<details class="([^"]*\b(?:sd-dropdown|ntp-strip|ntp-record)\b[^"]*)"(?! open)'
)
_ARTICLE = re.compile(r"<article[^>]*>(.*)</article>", re.DOTALL)
_HEAD = re.compile(r"<link [^>]*stylesheet[^>]*>|<script\b[^>]*>.*?</script>", re.DOTALL)
_LINK = re.compile(r'\b(href|src)="([^"]*)"')
_NAMED = re.compile(r'\b(id|for|aria-labelledby|aria-describedby|aria-controls)="([^"]+)"')
_LOCAL = re.compile(r"url\(#([^)]+)\)")


def print_book(project: Project, target: Path, browser: str | None = None) -> Path:
    """Print the built site of the book to `target`, which is replaced when the printing has
    succeeded, and return it.

    Raises WorkflowError if the site is not built, if there is no browser, or if it prints nothing.
    """
    browser = browser or find_browser()
    html = project.html("book")
    if browser is None:
        raise WorkflowError("No Chromium or Chrome on PATH: `make browser` gets one or says how.")
    if not (html / "index.html").is_file():
        raise WorkflowError(f"There is no book in {html}. Run `make book` first.")
    with tempfile.TemporaryDirectory(prefix="ntp-pdf-") as folder:
        document, printed = Path(folder, "book.html"), Path(folder, "book.pdf")
        document.write_text(one_document(html, toc_pages(project)), encoding="utf-8")
        command = [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"),
            *("--allow-file-access-from-files", f"--user-data-dir={folder}/profile"),
            *("--generate-pdf-document-outline", f"--virtual-time-budget={SETTING}"),
            *(f"--print-to-pdf={printed}", document.as_uri()),
        ]
        try:
            ended = run(command, limit=LIMIT)
        except TimeoutError as error:
            raise WorkflowError(f"{browser} did not print the book: {error}.") from error
        if ended.code or not printed.is_file() or not printed.stat().st_size:
            said = (ended.errors or ended.output)[-2000:]
            raise WorkflowError(f"{browser} did not print the book (code {ended.code}):\n{said}")
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f".{target.name}-new")
        shutil.copy2(printed, fresh)
        fresh.replace(target)
    return target


def one_document(html: Path, pages: Sequence[str]) -> str:
    """The pages of a site as one document of HTML, in this order, with its styles and MathJax taken
    from where they are. Raises WorkflowError for a page that is missing or holds no article.
    """
    texts = {page: _read(html, page) for page in pages}
    head = _head(texts[pages[0]], pages[0])
    sections = [_section(page, text, texts) for page, text in texts.items()]
    title = re.search(r"<title>(.*?)</title>", texts[pages[0]], re.DOTALL)
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en" data-theme="light" data-mode="light"><head>',
            '<meta charset="utf-8">',
            f'<base href="{escape(html.resolve().as_uri())}/">',
            f"<title>{title[1].strip() if title else 'The book'}</title>",
            *head,
            f"<style>{STYLE}</style></head>",
            '<body><main class="bd-main"><div class="bd-article">',
            *sections,
            "</div></main></body></html>",
        ]
    )


def _read(html: Path, page: str) -> str:
    path = html / f"{page}.html"
    if not path.is_file():
        raise WorkflowError(f"{path} is missing. Run `make book` again.")
    return path.read_text(encoding="utf-8")


def _head(text: str, page: str) -> list[str]:
    """Styles, and what sets the mathematics, of the first page of the book."""
    kept = [
        piece
        for piece in _HEAD.findall(text.partition("</head>")[0])
        if piece.startswith("<link") or "mathjax" in piece.lower()
    ]
    return [_LINK.sub(lambda found: _from_root(found, page), piece) for piece in kept]


def _section(page: str, text: str, texts: dict[str, str]) -> str:
    """The article of a page, whose names are its own in the document, and whose links lead to the
    sections of other pages.
    """
    article = _ARTICLE.search(text)
    if article is None:
        raise WorkflowError(f"{page}.html holds no article. Run `make book` again.")

    def link(found: re.Match[str]) -> str:
        return (
            f'{found[1]}="#{inside}"' if (inside := leads_to(found[2])) else _from_root(found, page)
        )

    def leads_to(address: str) -> str:
        path, _, anchor = address.partition("#")
        other = (
            page if not path else posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        )
        other = other.removesuffix(".html")
        return _name(other, anchor) if other in texts and not address.endswith(".ipynb") else ""

    body = _OPENED.sub(r'<details open class="\1"', article[1])
    body = _NAMED.sub(lambda found: _renamed(found, page), body)
    body = _LOCAL.sub(lambda found: f"url(#{_name(page, found[1])})", body)
    body = _LINK.sub(link, body)
    return f'<section class="ntp-page" id="{_name(page)}">{body}</section>'


def _renamed(found: re.Match[str], page: str) -> str:
    names = " ".join(_name(page, name) for name in found[2].split())
    return f'{found[1]}="{names}"'


def _name(page: str, anchor: str = "") -> str:
    """The name of a page, or of a place on it, in the document."""
    return f"{page.replace('/', '-')}--{anchor}" if anchor else page.replace("/", "-")


def _from_root(found: re.Match[str], page: str) -> str:
    """An address of a file of the site, from its first folder instead of that of a page."""
    kind, address = found[1], found[2]
    if re.match(r"[a-z]+:|#|//", address) or not address:
        return found[0]
    return f'{kind}="{posixpath.normpath(posixpath.join(posixpath.dirname(page), address))}"'


def main() -> None:
    """What `make pdf` runs after the build. Raises SystemExit with what went wrong."""
    project = Project.find()
    try:
        with project.lock():
            printed = print_book(project, project.build / "book.pdf")
    except WorkflowError as error:
        raise SystemExit(f"error: {error}") from error
    print(f"{printed}: {printed.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()

"""The whole book as one PDF, printed by a headless browser (`make pdf`).

It is made from the built site, so it shows the same numbers, figures and cards. The browser prints
each page with an outline of its headings; pypdf joins them, numbers the pages, and lets the links
from one to another lead to places of the PDF.
"""

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    Fit,
    IndirectObject,
    NameObject,
    StreamObject,
)

from ntpcompanion.workflow.base.browser import find_browser
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages

LIMIT = 900  # seconds for one page: a few, or hundreds on a machine that is busy with others
BROWSERS = 2  # that print at once, each in about .6 GiB of memory, where there are processors
SETTING = 300_000  # milliseconds of its own clock for the mathematics: it does not wait them out
# what is for a screen only; folded proofs, tables and strips of claims are opened, cards are not
SCRIPT = """<script>
for (const each of document.querySelectorAll(".headerlink, .ntp-code, .ntp-hover,"
  + ".ntp-narrow, .ntp-widget-live, .ntp-more")) each.remove();
for (const each of document.querySelectorAll("details")) {
  each.open ||= /\\b(sd-dropdown|ntp-(strip|record|group|aside))\\b/.test(each.className);
  if (!each.open) for (const part of each.querySelectorAll(":scope > :not(summary)")) part.remove();
}
if (window.MathJax) MathJax.options =
  {...MathJax.options, enableAssistiveMml: false, enableMenu: false};
</script>"""
STYLE = """<style>
@page { size: A4; margin: 20mm 23mm 22mm; }
html { font-size: 9.6pt; --ntp-measure: 100%; --ntp-column: 100%; --ntp-broad: 100%; }
.bd-content, .bd-article { display: block; max-width: none; padding: 0; overflow: visible; }
.bd-content .bd-article section > * { max-width: 100%; }
/* the theme prints a page's title elsewhere */
.bd-main .bd-content .bd-article h1 { display: block !important; margin-top: 0; }
figure, tr, .ntp-card, .ntp-map li, div.proof > p.admonition-title { break-inside: avoid; }
h1, h2, h3, table caption, summary, .ntp-finding-number { break-after: avoid; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.bd-content .bd-article :is(pre, .highlight, .ntp-scroll, .cell_output, table, dt) {
  overflow: visible; max-height: none;
}
.sd-card { box-shadow: none !important; }
</style>"""
_OTHER_SCRIPTS = re.compile(
    r"<script\b(?:(?!mathjax)[^>])*>(?:(?!mathjax|</script>).)*</script>", re.I | re.S
)
_ARTICLE = re.compile(r"<article[^>]*>.*</article>", re.DOTALL)
_LINK = re.compile(r'<a\b[^>]*?\bhref="([^"#]*)#([^"]+)"')


def print_book(
    project: Project,
    target: Path,
    browser: str | None = None,
    notify: Callable[[str], object] = lambda line: None,
) -> int:
    """Print the built site of the book to `target`, which is replaced when the printing has
    succeeded, and return its number of pages; `notify` gets a line for each page that is printed.

    Raises WorkflowError if the site is not built, if there is no browser, or if it prints nothing.
    """
    browser, html = browser or find_browser(), project.html("book")
    if browser is None:
        raise WorkflowError("No Chromium or Chrome on PATH: `make browser` gets one or says how.")
    if not (html / "index.html").is_file():
        raise WorkflowError(f"There is no book in {html}. Run `make book` first.")
    pages = toc_pages(project)
    with tempfile.TemporaryDirectory(prefix="ntp-pdf-") as folder:
        sources = prepare(html, pages, Path(folder).resolve())
        with ThreadPoolExecutor(min(BROWSERS, os.cpu_count() or 1)) as pool:
            printed = {}
            for source, done in zip(
                sources, pool.map(_print, sources, repeat(browser)), strict=True
            ):
                printed[source] = done
                notify(f"{len(printed)} of {len(pages)} printed: {source.stem}")
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f".{target.name}-new")
        number = join(printed, fresh)
        fresh.replace(target)
    return number


def prepare(html: Path, pages: Sequence[str], folder: Path) -> list[Path]:
    """The pages as they are printed, in `folder`, beside links to the other files of the site.
    Raises WorkflowError for a page that is missing or holds no article.
    """
    texts = {folder / f"{page}.html": _read(html / f"{page}.html") for page in pages}
    for shared in html.glob("_*"):
        (folder / shared.name).symlink_to(shared.resolve())
    # a browser gives a PDF the place of a name only where a link of the same page leads to it
    wanted: dict[Path, set[str]] = {}
    for path, text in texts.items():
        for address, name in _LINK.findall(text):
            other = Path(os.path.normpath(path.parent / address)) if address else path
            wanted.setdefault(other, set()).add(name)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        page = _printable(text, path.name, sorted(wanted.get(path, ())))
        path.write_text(page, encoding="utf-8")
    return list(texts)


def _read(path: Path) -> str:
    if not path.is_file():
        raise WorkflowError(f"{path} is missing. Run `make book` again.")
    return path.read_text(encoding="utf-8")


def _printable(text: str, name: str, anchors: Sequence[str]) -> str:
    """The article of a page, with its styles and its mathematics."""
    article = _ARTICLE.search(text)
    if article is None:
        raise WorkflowError(f"{name} holds no article. Run `make book` again.")
    head = _OTHER_SCRIPTS.sub("", text.partition("</head>")[0])
    links = "".join(f'<a href="#{each}"></a>' for each in anchors)
    return (
        f'{head}{STYLE}</head><body><main class="bd-main"><div class="bd-content">'
        f'<div class="bd-article">{article[0]}</div></div></main><nav hidden>{links}</nav>'
        f"{SCRIPT}</body></html>"
    )


def _print(source: Path, browser: str) -> Path:
    printed = source.with_suffix(".pdf")
    with tempfile.TemporaryDirectory(prefix="ntp-profile-") as profile:
        command = [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"),
            *("--generate-pdf-document-outline", "--allow-file-access-from-files"),
            *(f"--user-data-dir={profile}", f"--virtual-time-budget={SETTING}"),
            *(f"--print-to-pdf={printed}", source.as_uri()),
        ]
        where = f"{browser} did not print {source.stem}"
        try:
            ended = run(command, limit=LIMIT)
        except TimeoutError as error:
            raise WorkflowError(f"{where}: {error}.") from error
    if ended.code or not printed.is_file() or not printed.stat().st_size:
        message = (ended.errors or ended.output)[-2000:]
        raise WorkflowError(f"{where} (code {ended.code}):\n{message}")
    return printed


def join(printed: Mapping[Path, Path], target: Path) -> int:
    """Write the PDFs of pages of HTML as one, in this order, and return its number of pages."""
    writer, sources = PdfWriter(), []
    anchors: dict[str, tuple[int, Fit]] = {}
    for source, path in printed.items():
        reader, before, address = PdfReader(path), len(writer.pages), source.as_uri()
        anchors[address] = before, Fit.fit_horizontally()
        for name, place in reader.named_destinations.items():
            number = before + (reader.get_destination_page_number(place) or 0)
            where = Fit.xyz(left=float(place.left or 0), top=float(place.top or 0))
            anchors[unquote(f"{address}#{name.lstrip('/')}")] = number, where
        writer.append(reader)
        sources += [address] * len(reader.pages)
    for number, (page, address) in enumerate(zip(writer.pages, sources, strict=True), start=1):
        _link(page, address, anchors, writer)
        _number(page, number, writer)
    writer.add_metadata({"/Title": _title(next(iter(printed.values())))})
    writer.page_mode = "/UseOutlines"
    writer.write(target)
    return len(writer.pages)


def _title(printed: Path) -> str:
    """The title of a page, without the book's if both are one."""
    metadata = PdfReader(printed).metadata
    title = str(metadata.title) if metadata and metadata.title else "The book"
    page_title, _, book = title.partition(" \N{EM DASH} ")
    return page_title if page_title == book else title


def _link(
    page: PageObject, source: str, anchors: Mapping[str, tuple[int, Fit]], writer: PdfWriter
) -> None:
    """Let the links of a page lead to places of the book or to the web. What leads to a file of
    the machine where the book was printed, or to what was not printed, is text.
    """
    annotations = ArrayObject()
    for each in page.get("/Annots", ArrayObject()):
        note = each.get_object()
        inner = f"{source}#{str(note.get('/Dest', '')).lstrip('/')}"
        address = unquote(str(note.get("/A", {}).get("/URI", inner)))
        if address in anchors:
            number, fit = anchors[address]
            note.pop("/A", None)
            note[NameObject("/Dest")] = ArrayObject(
                [writer.pages[number].indirect_reference, NameObject(fit.fit_type), *fit.fit_args]
            )
        elif not address.startswith(("http:", "https:", "mailto:")):
            continue
        annotations.append(each)
    page[NameObject("/Annots")] = annotations


def _number(page: PageObject, number: int, writer: PdfWriter) -> None:
    """Print the page's number at the middle of its foot, in Helvetica."""
    resources = cast(DictionaryObject, page["/Resources"])
    fonts = resources.setdefault(NameObject("/Font"), DictionaryObject()).get_object()
    names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = {NameObject(key): NameObject(value) for key, value in names.items()}
    fonts[NameObject("/PageNumber")] = DictionaryObject(font)
    left, old = float(page.mediabox.width) / 2 - 2.5 * len(str(number)), page["/Contents"]
    words = f"\nQ q 0.35 g BT /PageNumber 9 Tf {left:.1f} 30 Td ({number}) Tj ET Q\n"
    around = [_stream(writer, data) for data in ("q\n", words)]
    pieces = old if isinstance(old, ArrayObject) else [page.raw_get("/Contents")]
    page[NameObject("/Contents")] = ArrayObject([around[0], *pieces, around[1]])


def _stream(writer: PdfWriter, text: str) -> IndirectObject:
    stream = StreamObject()
    stream.set_data(text.encode("ascii"))
    return writer._add_object(stream)


def main() -> None:
    """What `make pdf` runs after the build. Raises SystemExit with what went wrong."""
    project = Project.find()
    target = project.build / "book.pdf"
    try:
        with project.lock():
            number = print_book(project, target, notify=print)
    except WorkflowError as error:
        raise SystemExit(f"error: {error}") from error
    print(f"{target}: {number} pages, {target.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()

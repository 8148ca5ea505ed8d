"""The whole book as one PDF, printed by a headless browser (`make pdf`).

The pages of the built site are printed as they stand, each with an outline of its headings. pypdf
joins them, and lets the links from one to another lead to places of the PDF.
"""

import os
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import ArrayObject, Fit, NameObject

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import write_bytes_atomically
from ntpcompanion.workflow.base.processes import find_browser, run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages

LIMIT = 900  # seconds for one page: a few, or hundreds on a machine that is busy with others
BROWSERS = 2  # that print at once, each in about .6 GiB of memory, where there are processors
SETTING = 300_000  # milliseconds of its own clock for the mathematics: it does not wait them out
# by address: the number of the page of the PDF, and where
Destinations = dict[str, tuple[int, Fit]]


def print_book(
    project: Project,
    target: Path,
    browser: str | None = None,
    notify: Callable[[str], object] = lambda line: None,
) -> int:
    """Print the built site of the book to `target`, which is replaced when the printing has
    succeeded, and return its number of pages; `notify` gets a line for each page that is printed.
    """
    browser, html = browser or find_browser(), project.html("book")
    if browser is None:
        raise WorkflowError("No Chromium or Chrome on PATH: `make browser` gets one or says how.")
    sources = _built([html / f"{page}.html" for page in toc_pages(project)])
    with tempfile.TemporaryDirectory(prefix="ntp-pdf-") as folder:
        parts = {source: Path(folder, f"{n}.pdf") for n, source in enumerate(sources)}

        def printed(source: Path) -> None:
            _print(source, parts[source], browser)
            notify(f"printed {source.stem}")

        with ThreadPoolExecutor(min(BROWSERS, os.cpu_count() or 1)) as pool:
            list(pool.map(printed, sources))
        writer = join(parts)
        writer.write(content := BytesIO())
        write_bytes_atomically(target, content.getvalue())
    return len(writer.pages)


def _built(sources: list[Path]) -> list[Path]:
    if absent := [source for source in sources if not source.is_file()]:
        raise WorkflowError(f"There is no {absent[0]}. Run `make book` first.")
    return sources


def _print(source: Path, target: Path, browser: str) -> None:
    with tempfile.TemporaryDirectory(prefix="ntp-profile-") as profile:
        command = [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"),
            *("--generate-pdf-document-outline", "--allow-file-access-from-files"),
            *(f"--user-data-dir={profile}", f"--virtual-time-budget={SETTING}"),
            *(f"--print-to-pdf={target}", source.as_uri()),
        ]
        where = f"{browser} did not print {source.stem}"
        try:
            ended = run(command, limit=LIMIT)
        except TimeoutError as error:
            raise WorkflowError(f"{where}: {error}.") from error
    if ended.code or not target.is_file() or not target.stat().st_size:
        message = (ended.errors or ended.output)[-2000:]
        raise WorkflowError(f"{where} (code {ended.code}):\n{message}")


def join(parts: Mapping[Path, Path]) -> PdfWriter:
    writer, sources = PdfWriter(), []
    places: Destinations = {}
    for source, path in parts.items():
        reader, address = PdfReader(path), source.as_uri()
        places |= _destinations(reader, address, len(writer.pages))
        writer.append(reader)
        sources += [address] * len(reader.pages)
    for page, address in zip(writer.pages, sources, strict=True):
        _link(page, address, places, writer)
    writer.add_metadata({"/Title": _title(next(iter(parts.values())))})
    writer.page_mode = "/UseOutlines"
    return writer


def _title(path: Path) -> str:
    metadata = PdfReader(path).metadata
    return str(metadata.title).partition(" \N{EM DASH} ")[0] if metadata else "The book"


def _destinations(reader: PdfReader, address: str, before: int) -> Destinations:
    """The beginning and all places of a page of HTML, in a PDF that has `before` pages already."""
    places: Destinations = {address: (before, Fit.fit_horizontally())}
    for name, place in reader.named_destinations.items():
        number = before + (reader.get_destination_page_number(place) or 0)
        where = Fit.xyz(left=float(place.left or 0), top=float(place.top or 0))
        places[unquote(f"{address}#{name.lstrip('/')}")] = number, where
    return places


def _link(page: PageObject, source: str, places: Destinations, writer: PdfWriter) -> None:
    """Let the links of a page lead to places of the book, or the beginning of its pages, or to the
    web. What leads to a file of the machine where the book was printed is text.
    """
    annotations = ArrayObject()
    for each in page.get("/Annots", ArrayObject()):
        note = each.get_object()
        inner = f"{source}#{str(note.get('/Dest', '')).lstrip('/')}"
        address = unquote(str(note.get("/A", {}).get("/URI", inner)))
        if place := places.get(address) or places.get(address.partition("#")[0]):
            number, fit = place
            note.pop("/A", None)
            note[NameObject("/Dest")] = ArrayObject(
                [writer.pages[number].indirect_reference, NameObject(fit.fit_type), *fit.fit_args]
            )
        elif not address.startswith(("http:", "https:", "mailto:")):
            continue
        annotations.append(each)
    page[NameObject("/Annots")] = annotations


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

"""The whole book as one PDF, printed by a headless browser (`make pdf`).

It is made from the built site, so it shows the same numbers, figures and cards. Neighbouring pages
are printed as one document (`printed`), several documents at once, and joined (`joined`).
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from ntpcompanion.workflow.base.browser import find_browser
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages, toc_parts
from ntpcompanion.workflow.printing.joined import join
from ntpcompanion.workflow.printing.printed import Document, book_title, documents, place_name

LIMIT = 900  # seconds for one document: a few, or hundreds on a machine that is busy with others
BROWSERS = 2  # that print at once, each in about .6 GiB of memory, where there are processors
SETTING = 300_000  # milliseconds of its own clock for the mathematics: it does not wait them out


def print_book(
    project: Project,
    target: Path,
    browser: str | None = None,
    tell: Callable[[str], object] = lambda line: None,
) -> int:
    """Print the built site of the book to `target`, which is replaced when the printing has
    succeeded, and return its number of pages; `tell` hears of each document that is printed.

    Raises WorkflowError if the site is not built, if there is no browser, or if it prints nothing.
    """
    browser = browser or find_browser()
    html = project.html("book")
    if browser is None:
        raise WorkflowError("No Chromium or Chrome on PATH: `make browser` gets one or says how.")
    if not (html / "index.html").is_file():
        raise WorkflowError(f"There is no book in {html}. Run `make book` first.")
    pages = toc_pages(project)
    parts = {place_name(page): part for page, part in toc_parts(project).items()}
    with tempfile.TemporaryDirectory(prefix="ntp-pdf-") as folder:
        made = documents(html, pages)
        printed = _print_all(made, Path(folder), browser, tell)
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f".{target.name}-new")
        headings = [heading for document in made for heading in document.headings]
        number = join(printed, headings, parts, fresh, book_title(html, pages[0]))
        fresh.replace(target)
    return number


def _print_all(
    made: Sequence[Document], folder: Path, browser: str, tell: Callable[[str], object]
) -> list[Path]:
    """The documents as files of PDF, in their order."""
    with ThreadPoolExecutor(min(BROWSERS, os.cpu_count() or 1)) as pool:
        jobs = {
            pool.submit(_print, document, folder / str(place), browser): document
            for place, document in enumerate(made)
        }
        try:
            for count, job in enumerate(as_completed(jobs), start=1):
                job.result()
                tell(f"{count} of {len(jobs)} printed: {', '.join(jobs[job].pages)}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [job.result() for job in jobs]


def _print(document: Document, folder: Path, browser: str) -> Path:
    folder.mkdir()
    source, printed = folder / "book.html", folder / "book.pdf"
    source.write_text(document.text, encoding="utf-8")
    command = [
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"),
        *("--disable-pdf-tagging", "--allow-file-access-from-files"),
        *(f"--user-data-dir={folder / 'profile'}", f"--virtual-time-budget={SETTING}"),
        *(f"--print-to-pdf={printed}", source.as_uri()),
    ]
    where = f"{browser} did not print {', '.join(document.pages)}"
    try:
        ended = run(command, limit=LIMIT)
    except TimeoutError as error:
        raise WorkflowError(f"{where}: {error}.") from error
    if ended.code or not printed.is_file() or not printed.stat().st_size:
        message = (ended.errors or ended.output)[-2000:]
        raise WorkflowError(f"{where} (code {ended.code}):\n{message}")
    return printed


def main() -> None:
    """What `make pdf` runs after the build. Raises SystemExit with what went wrong."""
    project = Project.find()
    target = project.build / "book.pdf"
    try:
        with project.lock():
            number = print_book(project, target, tell=print)
    except WorkflowError as error:
        raise SystemExit(f"error: {error}") from error
    print(f"{target}: {number} pages, {target.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()

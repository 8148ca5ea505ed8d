"""A site read as a browser reads it, from disk or over http: every page that links reach, and what
a reader would complain about.
"""

import csv
import functools
import http.server
import re
import threading
import urllib.request
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from html import unescape
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote, urldefrag, urlsplit

import nbformat
from playwright.sync_api import Browser, ConsoleMessage, Request, Response, WebSocket

from tests.browsing import PATIENCE

SCRIPT = Path(__file__).with_suffix(".js")
Look = tuple[int, str]  # width in pixels and colours
# How a page is looked at: it is loaded under the first and then only shown in another way.
NARROW_FIRST: tuple[Look, ...] = ((390, "light"), (1280, "light"))
USUAL: tuple[Look, ...] = ((1280, "light"), (1280, "dark"), (390, "light"))
EVERY: tuple[Look, ...] = tuple(
    (width, colours) for width in (1280, 768, 390, 320) for colours in ("light", "dark")
)
# Pieces of templates that the themes leave among their style sheets.
NOT_PAGES = {"_static/webpack-macros.html", "_static/sbt-webpack-macros.html"}
NAMED = re.compile(r'\b(?:id|name)="([^"]+)"')
DOWNLOADS = (".csv", ".ipynb", ".json", ".md", ".txt")
SEARCHED = re.compile("finished|did not match")


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a site over http, for as long as the context lasts."""
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Host, directory=site)
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


class Host(http.server.SimpleHTTPRequestHandler):
    """A quiet host that shows no folders."""

    def handle(self) -> None:
        """A browser that leaves a page hangs up on what it still asked for."""
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, *_: object) -> None:
        """Say nothing: the crawl complains."""

    def list_directory(self, _path: object) -> None:
        """A link to a folder is dead on most hosts."""
        self.send_error(404)


class Crawl:
    """One reading of the site under `base`: `complaints` by page and setting, and what each page
    `said` of its links and anchors.
    """

    def __init__(self, browser: Browser, base: str, looks: Sequence[Look]) -> None:
        self.base, self.scheme, self.looks = base, urlsplit(base).scheme, looks
        self.complaints: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self.said: dict[str, dict] = {}
        self.heard: list[str] = []
        self.fetch, self.written = functools.cache(fetch), functools.cache(self._written)
        context = browser.new_context(offline=self.scheme == "file")
        context.add_init_script(path=SCRIPT)
        context.set_default_timeout(PATIENCE)
        self.foreign = re.compile(rf"^(?!{re.escape(base)}|data:|blob:|about:)")
        self.page = context.new_page()
        self._listen()

    def _listen(self) -> None:
        def leaving(request: Request | WebSocket) -> None:
            if self.foreign.match(request.url):
                self.heard.append(f"request leaves: {request.url}")

        def rejected(answer: Response) -> None:
            if answer.status >= 400:
                self.heard.append(f"answer {answer.status}: {answer.url}")

        def console(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                self.heard.append(
                    f"console {message.type}: {message.text} ({message.location['url']})"
                )

        self.page.on("request", leaving)
        self.page.on("websocket", leaving)
        self.page.on("response", rejected)
        self.page.on("console", console)
        self.page.on("pageerror", lambda error: self.heard.append(f"script error: {error}"))

    def complain(self, name: str, setting: str, faults: Iterable[str | None]) -> None:
        """Write down what is wrong with a page, each fault once."""
        if found := sorted({fault for fault in faults if fault}):
            self.complaints[name, f"{self.scheme}, {setting}"] += found

    def first_page(self) -> str:
        """Where index.html leads: Jupyter Book makes of it a page that only refers to the first one
        of the book.
        """
        refers = re.search(
            r'http-equiv="Refresh" content="0; url=([^"]+)"',
            (self.fetch(f"{self.base}index.html") or b"").decode(),
        )
        return refers[1] if refers else "index.html"

    def visit(self, name: str) -> None:
        """Open a page, look at it in each way, and keep what it says of others."""
        for look, (width, colours) in enumerate(self.looks):
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.emulate_media(color_scheme=colours)
            if look == 0:
                self.page.goto(self.base + quote(name))
            found = self.page.evaluate("look => crawl.look(...look)", [width, colours])
            self.complain(name, f"{width} px, {colours}", [*self.heard, *found])
            self.heard.clear()
        self.said[name] = self.page.evaluate("crawl.said()")

    def search(self, word: str) -> list[str]:
        """The pages found by a reader who types a word on the first page."""
        self.page.goto(f"{self.base}index.html", wait_until="commit")
        self.page.wait_for_url(self.base + self.first_page())
        self.page.keyboard.press("ControlOrMeta+K")
        self.page.keyboard.type(word)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(f"{self.base}search.html?q={word}")
        self.page.locator(".search-summary", has_text=SEARCHED).wait_for()
        links = self.page.eval_on_selector_all(
            "ul.search a", "found => found.map(link => link.href)"
        )
        self.complain(
            f"search.html?q={word}", "search", [*self.heard, *map(self.link_fault, links)]
        )
        self.heard.clear()
        return links

    def page_of(self, url: str) -> str | None:
        """The name of the page of this site to which an address leads; None if it leads to
        something else, or to nothing.
        """
        address = urldefrag(url).url.partition("?")[0]
        if (
            not address.startswith(self.base)
            or not address.endswith(".html")
            or self.fetch(address) is None
        ):
            return None
        return unquote(address.removeprefix(self.base))

    def link_fault(self, url: str, saved: str | None = None) -> str | None:
        """What is wrong with a link; one that leaves the site has to be https and is not
        followed.
        """
        address, anchor = urldefrag(url)
        address = address if address.startswith("data:") else address.partition("?")[0]
        if not address.startswith((self.base, "data:")):
            return (
                None if address.startswith(("https:", "mailto:")) else f"link is not https: {url}"
            )
        content = self.fetch(address)
        if content is None:
            return f"dead link: {url}"
        name = saved or PurePosixPath(unquote(urlsplit(address).path)).name
        if saved is not None or name.endswith(DOWNLOADS):
            return download_fault(name, content)
        page = self.page_of(url)
        # `name=value` is a view of the ledger, which its script reads: no place on the page
        lost = (
            page and anchor and "=" not in anchor and unquote(anchor) not in self.anchors_of(page)
        )
        return f"dead anchor: {url}" if lost else None

    def anchors_of(self, name: str) -> Container[str]:
        """The places of a page that links can name: those that a browser saw, or those in the HTML
        of a page that was not read.
        """
        return self.said[name]["anchors"] if name in self.said else self.written(name)

    def _written(self, name: str) -> set[str]:
        text = (self.fetch(self.base + quote(name)) or b"").decode()
        return {unescape(place) for place in NAMED.findall(text)}

    def judge_links(self) -> None:
        """Complain about the links of all pages that were read."""
        for name, said in self.said.items():
            self.complain(
                name, "links", [self.link_fault(**link) for link in said["head"] + said["links"]]
            )


def read(browser: Browser, base: str, names: Iterable[str], looks: Sequence[Look]) -> Crawl:
    """Read the pages `names` of the site under `base`, and no other to which they lead."""
    reading = Crawl(browser, base, looks)
    for name in names:
        reading.visit(name)
    reading.judge_links()
    return reading


def crawl(browser: Browser, base: str, names: Iterable[str], looks: Sequence[Look]) -> Crawl:
    """Read the site under `base` from its index.html on; a page of `names` that no link reaches is
    a complaint.
    """
    reading = Crawl(browser, base, looks)
    waiting = [reading.first_page()]
    while waiting:
        name = waiting.pop()
        if name not in reading.said:
            reading.visit(name)
            waiting += [
                page
                for link in reading.said[name]["links"]
                if (page := reading.page_of(link["url"]))
            ]
    reading.judge_links()
    for name in sorted({*names} - {*reading.said, "index.html"}):
        reading.complain(name, "links", ["no link leads here"])
    return reading


def pages_of(site: Path) -> set[str]:
    """The pages in the folder of a site."""
    return {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - NOT_PAGES


def searched(reading: Crawl, word: str) -> set[str | None]:
    """The pages found by a word of the book; another word finds none."""
    found = {reading.page_of(link) for link in reading.search(word)}
    assert reading.search("rhinoceros") == []
    return found


def fetch(address: str) -> bytes | None:
    """What stands at an address of a site, or in a data: address; None if nothing does."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address) as answer:
            return answer.read()
    except (OSError, ValueError):
        return None


def download_fault(name: str, content: bytes) -> str | None:
    """What is wrong with a file that a reader saves: nothing in it, or a notebook or table that
    cannot be read.
    """
    if not content.strip():
        return f"empty download: {name}"
    try:
        READERS.get(PurePosixPath(name).suffix, lambda _: None)(content)
    except (ValueError, nbformat.ValidationError) as error:
        return f"unreadable download: {name}: {str(error).splitlines()[0]}"
    return None


def read_notebook(content: bytes) -> None:
    """Raise ValueError or ValidationError unless this is a notebook of the fourth format."""
    nbformat.validate(nbformat.reads(content.decode(), as_version=nbformat.NO_CONVERT))


def read_table(content: bytes) -> None:
    """Raise ValueError unless this is a table with a row below its head."""
    widths = [len(row) for row in csv.reader(content.decode().splitlines())]
    if len(widths) < 2 or len(set(widths)) > 1:
        raise ValueError(f"{len(widths)} rows, as long as {sorted(set(widths))}")


READERS = {".ipynb": read_notebook, ".csv": read_table}

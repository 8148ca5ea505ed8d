"""Pages of the real book, rendered from its smoke run and read as a browser reads them; and proof
that this reading finds faults.
"""

import re
import threading
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages
from tests.browsing import needs_browser
from tests.built import KINDS
from tests.crawl import EVERY, NARROW_FIRST, SCRIPT, USUAL, Crawl, crawl, read, served
from tests.smoke import smoke_site

pytestmark = needs_browser

# Pieces of templates that the themes leave among their style sheets.
NOT_PAGES = {"_static/webpack-macros.html", "_static/sbt-webpack-macros.html"}

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<link rel="icon" href="data:,"><style>
body {{ background: #fff; color: #000 }} a {{ color: inherit }}
@media (prefers-color-scheme: dark) {{ body {{ background: #000; color: #fff }} }}
</style></head><body><h1>A page</h1>{body}</body></html>"""
DOT = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"


def plotted(drawn, ground="none"):
    """A figure of a chapter that draws this."""
    dot = '<defs><path id="dot" d="M-2 -2H2V2H-2Z"/></defs>'
    picture = f'<svg role="img" aria-label="a plot" width="90" height="20">{dot}{drawn}</svg>'
    return f'<div class="ntp-figure" style="background: {ground}">{picture}</div>'


# One fault on each page, and the words that must name it.
PLANTED = {
    "picture-elsewhere": (
        '<img alt="a picture" src="https://example.org/x.png">',
        "request leaves: https://example.org/x.png",
    ),
    "socket-elsewhere": (
        "<script>new WebSocket('wss://example.org/x')</script>",
        "request leaves: wss://example.org/x",
    ),
    "host-elsewhere": (
        '<link rel="preconnect" href="https://example.org">',
        "request leaves: https://example.org/",
    ),
    "icon-missing": ('<link rel="icon" href="gone.ico">', r"dead link: .*/gone\.ico"),
    "style-missing": (
        '<link rel="stylesheet" href="gone.css">',
        r"ERR_FILE_NOT_FOUND .*/gone\.css|answer 404: .*/gone\.css",
    ),
    "console": ("<script>console.error('it broke')</script>", "console error: it broke"),
    "warned": ("<script>console.warn('it will break')</script>", "console warning: it will break"),
    "script": ("<script>throw new Error('it threw')</script>", "script error: it threw"),
    "late-script": (
        "<script>addEventListener('load', () => { throw new Error('late') })</script>",
        "script error: late",
    ),
    "unset": ('<span class="math">x</span>', "formula not set: x"),
    "misspelled": (
        '<span class="math"><mjx-container><mjx-merror>no '
        "\\such</mjx-merror></mjx-container></span>",
        "formula in error: no",
    ),
    "raw-tex": ("<p>So $a_1 < b$ holds.</p>", r"TeX shown as text: \$a_1"),
    "raw-macro": ("<p>The set \\mathcal{S} is finite.</p>", r"TeX shown as text: \\mathcal"),
    "dead-link": ('<a href="nowhere.html">there</a>', r"dead link: .*/nowhere\.html"),
    "dead-folder": ('<a href="folder/">there</a>', "dead link: .*/folder/"),
    "dead-anchor": (
        '<a href="index.html#nowhere">there</a>',
        r"dead anchor: .*/index\.html#nowhere",
    ),
    "dead-own-anchor": (
        '<a href="#nowhere">there</a>',
        r"dead anchor: .*/dead-own-anchor\.html#nowhere",
    ),
    "not-https": (
        '<a href="http://example.org/">there</a>',
        "link is not https: http://example.org/",
    ),
    "empty-download": ('<a href="empty.md">save</a>', r"empty download: empty\.md"),
    "empty-saved": (
        '<a href="data:text/plain," download="plan.txt">save</a>',
        r"empty download: plan\.txt",
    ),
    "empty-table": (
        '<a href="data:text/csv;base64,YSxi" download="data.csv">save</a>',
        r"unreadable download: data\.csv: 1 rows",
    ),
    "ragged-table": (
        '<a href="data:text/csv,a,b%0A1" download="data.csv">save</a>',
        r"unreadable download: data\.csv: 2 rows",
    ),
    "no-notebook": (
        '<a href="cut.ipynb">save</a>',
        r"unreadable download: cut\.ipynb: Notebook does not appear to be JSON",
    ),
    "bad-notebook": (
        '<a href="bare.ipynb">save</a>',
        r"unreadable download: bare\.ipynb: .*missing an expected key: cells",
    ),
    "no-alt": (f'<img src="{DOT}">', "image without alternative text"),
    "alt-is-a-name": (
        f'<img src="{DOT}" alt="plot_3.svg">',
        r"alternative text is a file name: plot_3\.svg",
    ),
    "broken-picture": ('<img src="data:image/png;base64,AAAA" alt="a plot">', "broken image"),
    "two-titles": ("<h1>Another</h1>", "2 headings of the first level"),
    "nameless": (
        "<script>document.title = ''; document.documentElement.lang = ''</script>",
        "no language.*no title",
    ),
    "shut": ("<details><summary>a card</summary></details>", "does not open: details"),
    "shut-inside": (
        "<details><summary>a card</summary><details class='in'><summary>more</summary></details>"
        "</details>",
        r"does not open: details\.in",
    ),
    "click-rejected": (
        "<script>document.addEventListener('click', event => event.preventDefault())</script>"
        "<details><summary>a card</summary>its body</details>",
        "does not open: details",
    ),
    "faint": (
        '<p style="color: #bbb; background: #fff">whisper</p>',
        r"text hard to read, contrast 1\.9: whisper",
    ),
    "faint-word": (
        plotted('<text y="15" fill="#777">axis</text>', "#fff"),
        r"word hard to see, contrast 4\.5: axis",
    ),
    "faint-line": (
        plotted('<path d="M1 1L80 9" fill="none" stroke="#aaa"/>', "#fff"),
        r"line hard to see, contrast 2\.3: rgb\(170, 170, 170\)",
    ),
    "faint-cell": (
        plotted('<path d="M0 0H40V20H0Z" fill="#008"/><text y="15">cell</text>', "#fff"),
        r"word hard to see, contrast 1\.4: cell",
    ),
    "line-on-a-bar": (
        plotted(
            '<path d="M0 0H80V20H0Z" fill="#008"/><path d="M1 1L79 19" fill="none" stroke="#444"/>',
            "#fff",
        ),
        r"line hard to see, contrast 1\.6: rgb\(68, 68, 68\)",
    ),
    "faint-mark": (
        plotted('<use href="#dot" x="20" y="9" opacity="0.8" fill="#888"/>', "#fff"),
        r"mark hard to see, contrast 2\.6: rgb\(136, 136, 136\)",
    ),
}
# Faults that only one way of looking shows.
PLANTED_IN_ONE_LOOK = {
    "wide": (
        '<p style="width: 600px">wide</p>',
        "p reaches 2.. pixels beyond the window",
        "390 px, light",
    ),
    "cut-off": (
        '<div style="overflow: hidden"><p style="width: 700px">wide</p></div>',
        "p reaches 3.. pixels",
        "390 px, light",
    ),
    "day": (
        "<style>body { background: #ddd; color: #000 }</style>",
        "bright in dark mode: the page",
        "1280 px, dark",
    ),
    "sheet": (
        '<p style="background: #eee; color: #000">white sheet</p>',
        "bright in dark mode: p",
        "1280 px, dark",
    ),
    "frame": (
        '<p style="border: 1px solid #ccc">white frame</p>',
        "bright in dark mode: p",
        "1280 px, dark",
    ),
}
IN_SIGHT = """<path d="M0 0H40V20H0Z" fill="#008"/><text y="15" fill="#fff">cell</text>
<path d="M1 1L80 9" fill="none" stroke="#888"/><use href="#dot" x="60" y="9" fill="#888"/>
<path d="M50 0H80V20H50Z" fill="#888" fill-opacity="0.2"/>"""
SOUND = """<h2 id="here">Sound</h2><a href="#here">up</a>
<a href="folder/deep.html?x=1#caf%C3%A9">deep</a><a href="https://example.org">out</a>
<a href="table.csv" download>table</a> <a href="sound.ipynb">notebook</a>
<code>$x$ \\(y\\)</code> <form action="found.html"></form>
<span class="math"><mjx-container>x</mjx-container></span>
<div style="overflow: auto"><p style="width: 900px">a wide table</p></div>
<details><summary>a card</summary><p>its body</p></details>
<details><summary>a card</summary><details><summary>more</summary>its body</details></details>
{plot}<img alt="A dot" src="{dot}">""".replace("{dot}", DOT).replace("{plot}", plotted(IN_SIGHT))
FILES = {
    "empty.md": "",
    "table.csv": "a,b\n1,2\n",
    "sound.ipynb": nbformat.writes(nbformat.v4.new_notebook()),
    "bare.ipynb": '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
    "cut.ipynb": '{"cells": [',
}


@contextmanager
def read_twice(browser, site: Path, names: set[str], looks=USUAL):
    """The site read from disk in these looks, and over http in two."""
    with served(site) as address:
        yield [
            crawl(browser, f"{site.as_uri()}/", names, looks),
            crawl(browser, address, names, NARROW_FIRST),
        ]


def complaints(readings: list[Crawl]) -> dict[tuple[str, str], list[str]]:
    return {key: faults for reading in readings for key, faults in reading.complaints.items()}


@pytest.fixture(scope="module")
def site():
    return smoke_site()


@pytest.fixture(scope="module")
def kinds(browser, site):
    """One page of each kind, read from disk."""
    return read(browser, f"{site.as_uri()}/", [f"{page}.html" for page in KINDS], USUAL)


@pytest.fixture(scope="module")
def book(browser, site):
    """All pages, from disk in every look and over http."""
    files = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    listed = {f"{page}.html" for page in toc_pages(Project.find())}
    with read_twice(browser, site, files - NOT_PAGES | listed, EVERY) as readings:
        yield readings


def search(reading: Crawl) -> set[str]:
    """The pages found by a word of the book; another word finds none."""
    found = {reading.page_of(link) for link in reading.search("entropy")}
    assert reading.search("rhinoceros") == []
    return found


def test_nothing_to_complain_about_on_a_page_of_each_kind(kinds):
    assert {f"{page}.html" for page in KINDS} == set(kinds.said)
    assert kinds.complaints == {}


def test_each_chapter_carries_the_smoke_warning(site):
    chapters = list((site / "chapters").glob("*.html"))
    assert len(chapters) == len(list(Project.find().notebooks.glob("*.md")))
    for chapter in chapters:
        assert "Its numbers are not results" in chapter.read_text(encoding="utf-8")


def test_a_reader_who_searches_finds_pages(kinds):
    assert {"notation.html", "chapters/sparse_contexts.html"} <= search(kinds)
    assert kinds.complaints == {}


def test_a_card_opens_by_keyboard(kinds):
    page = kinds.page
    page.goto(f"{kinds.base}chapters/separability.html")
    card = page.locator(".ntp-card:visible").first  # others wait in strips
    assert not card.locator("dl").is_visible()
    card.locator("summary").press("Enter")
    assert card.locator("dl").is_visible()


@pytest.mark.slow
def test_nothing_to_complain_about_on_any_page_in_any_look(book):
    made = {"genindex.html", "py-modindex.html", "search.html"}
    listed = {f"{page}.html" for page in toc_pages(Project.find())}
    assert all(listed | made <= set(reading.said) for reading in book)
    assert complaints(book) == {}


@pytest.mark.slow
def test_a_reader_who_searches_over_http_finds_pages(book):
    assert "notation.html" in search(book[1])
    assert book[1].complaints == {}


def test_a_host_ends_when_a_reading_fails(tmp_path):
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError), served(tmp_path):
        raise ZeroDivisionError
    assert threading.active_count() == before


@pytest.fixture(scope="module")
def planted(browser, tmp_path_factory):
    """A site of small pages with one fault each, a sound one, and one to which nothing leads."""
    site = tmp_path_factory.mktemp("a site")
    pages = {name: body for name, (body, *_) in {**PLANTED, **PLANTED_IN_ONE_LOOK}.items()} | {
        "sound": SOUND
    }
    index = "".join(f'<a href="{name}.html">{name}</a> ' for name in pages)
    pages |= {"index": index, "found": "", "folder/deep": '<p id="café"></p>', "orphan": ""}
    (site / "folder").mkdir()
    for name, text in (
        FILES | {f"{name}.html": PAGE.format(body=body) for name, body in pages.items()}
    ).items():
        (site / name).write_text(text, encoding="utf-8")
    with read_twice(browser, site, {f"{name}.html" for name in [*pages, "listed"]}) as readings:
        return readings


@pytest.mark.parametrize("page", PLANTED)
def test_a_planted_fault_is_named_from_disk_and_over_http(planted, page):
    for reading in planted:
        said = " | ".join(
            fault
            for (name, _), faults in reading.complaints.items()
            if name == f"{page}.html"
            for fault in faults
        )
        assert re.search(PLANTED[page][1], said), said


def test_a_page_tells_of_a_socket_whenever_the_browser_does(browser):
    body, words = PLANTED["socket-elsewhere"]
    page = browser.new_page()
    page.add_init_script(path=SCRIPT)
    page.goto(f"data:text/html,{body}")
    assert words in page.evaluate("crawl.structure()")
    page.close()


@pytest.mark.parametrize("page", PLANTED_IN_ONE_LOOK)
def test_a_fault_of_one_look_is_named_with_it(planted, page):
    _, words, look = PLANTED_IN_ONE_LOOK[page]
    said = {
        setting: " | ".join(faults)
        for (name, setting), faults in complaints(planted).items()
        if name == f"{page}.html"
    }
    assert (
        set(said) == {"file, 1280 px, dark"}
        if "dark" in look
        else {"file, 390 px, light", "http, 390 px, light"}
    )
    assert all(re.search(words, faults) for faults in said.values()), said


def test_a_page_to_which_nothing_leads_is_named(planted):
    unreached = {
        name
        for (name, _), faults in complaints(planted).items()
        if faults == ["no link leads here"]
    }
    assert unreached == {"orphan.html", "listed.html"}


def test_no_other_page_is_blamed(planted):
    expected = {f"{name}.html" for name in [*PLANTED, *PLANTED_IN_ONE_LOOK, "orphan", "listed"]}
    assert {name for name, _ in complaints(planted)} == expected

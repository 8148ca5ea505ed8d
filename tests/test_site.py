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
from tests.built import KINDS
from tests.crawl import EVERY, NARROW_FIRST, USUAL, Crawl, crawl, read, served
from tests.smoke import smoke_site

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


# What is wrong on one page, and the words that must name it.
PLANTED = {
    '<img alt="a picture" src="https://example.org/x.png">': "request leaves: https://example.org/x",
    "<script>new WebSocket('wss://example.org/y')</script>": "request leaves: wss://example.org/y",
    '<link rel="stylesheet" href="gone.css">': r"ERR_FILE_NOT_FOUND .*/gone\.css",
    "<script>console.warn('it will break')</script>": "console warning: it will break",
    "<script>throw new Error('it threw')</script>": "script error: it threw",
    '<span class="math">x</span>': "formula not set: x",
    '<b class="math"><mjx-container><mjx-merror>no</mjx-merror></mjx-container></b>': "error: no",
    "<p>The set \\mathcal{S} is finite.</p>": r"TeX shown as text: \\mathcal",
    '<a href="folder/">there</a>': "dead link: .*/folder/",
    '<a href="#nowhere">there</a>': r"dead anchor: .*/faulty\.html#nowhere",
    '<a href="http://example.org/">there</a>': "link is not https: http://example.org/",
    '<a href="data:text/plain," download="a.txt">save</a>': r"empty download: a\.txt",
    '<a href="data:text/csv,a,b%0A1" download="a.csv">save</a>': r"unreadable .* a\.csv: 2 rows",
    '<a href="bare.ipynb">save</a>': r"unreadable .* bare\.ipynb: .*missing an expected key: cells",
    f'<img src="{DOT}">': "image without alternative text",
    f'<img src="{DOT}" alt="plot_3.svg">': r"alternative text is a file name: plot_3\.svg",
    '<img src="data:image/png;base64,AAAA" alt="a plot">': "broken image",
    "<h1>Another</h1>": "2 headings of the first level",
    "<script>document.title = ''; document.documentElement.lang = ''</script>": "no title",
    "<details class='in'><summary>a card</summary></details>": r"does not open: details\.in",
    '<p style="color: #bbb; background: #fff">whisper</p>': r"hard to read, .* 1\.9: whisper",
    plotted('<text y="15" fill="#777">axis</text>', "#fff"): r"word hard .* 4\.5: axis",
    plotted('<path d="M1 1L80 9" fill="none" stroke="#aaa"/>', "#fff"): r"line hard .* 2\.3: rgb",
    plotted('<use href="#dot" x="20" y="9" opacity="0.8" fill="#888"/>', "#fff"): r"mark hard .* 2",
    '<p style="width: 600px">wide</p>': "p reaches 2.. pixels beyond the window",
    '<p style="background: #eee; color: #000">white sheet</p>': "bright in dark mode: p",
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
    "table.csv": "a,b\n1,2\n",
    "sound.ipynb": nbformat.writes(nbformat.v4.new_notebook()),
    "bare.ipynb": '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
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


def test_what_is_wrong_on_a_page_is_named_and_no_other_page_is_blamed(browser, tmp_path):
    pages = {"faulty": "".join(PLANTED), "sound": SOUND, "folder/deep": '<p id="café"></p>'}
    index = "".join(f'<a href="{name}.html">{name}</a> ' for name in pages)
    pages |= {"index": index, "found": "", "orphan": ""}
    (tmp_path / "folder").mkdir()
    for name, body in pages.items():
        (tmp_path / f"{name}.html").write_text(PAGE.format(body=body), encoding="utf-8")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    names = {f"{name}.html" for name in [*pages, "listed"]}
    found = crawl(browser, f"{tmp_path.as_uri()}/", names, USUAL).complaints
    said = "\n".join(fault for (name, _), faults in found.items() for fault in faults)
    assert {words for words in PLANTED.values() if not re.search(words, said)} == set()
    assert {name for name, _ in found} == {"faulty.html", "orphan.html", "listed.html"}
    assert found["listed.html", "file, links"] == ["no link leads here"]

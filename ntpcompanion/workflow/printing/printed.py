"""The built pages as documents of HTML that a browser prints one by one (`pdf`), and what the PDF
that is joined of them needs to know: headings, and the names of the places that links lead to.

One document of the whole book takes a browser longer than anyone waits, and more memory than many
machines have; so neighbouring pages stand in one document up to a size.
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError

SIZE = 600_000  # characters of HTML in one document, unless a single page has more
# Links within the book are written as addresses of this host, which does not exist; the one that
# joins the documents turns each into a place in the PDF.
BOOK = "https://book.invalid/#"
# What is for a screen only is taken out before the mathematics is set: the rest is printed sooner.
UNSEEN = (
    ".headerlink, .ntp-code, .ntp-copy, .ntp-hover, .ntp-narrow, .ntp-widget-live, "
    ".ntp-more, details:not([open]) > :not(summary)"
)
SCRIPT = (
    f'for (const each of document.querySelectorAll("{UNSEEN}")) each.remove();'
    "if (window.MathJax) MathJax.options = "
    "{...MathJax.options, enableAssistiveMml: false, enableMenu: false};"
)
STYLE = """
@page { size: A4; margin: 20mm 23mm 22mm; }
html { font-size: 9.6pt; --ntp-measure: 100%; --ntp-column: 100%; --ntp-broad: 100%; }
.bd-content, .bd-article { display: block; max-width: none; padding: 0; overflow: visible; }
.bd-content .bd-article section > * { max-width: 100%; }
/* the theme prints a page's title elsewhere */
.bd-main .bd-content .bd-article h1 { display: block !important; margin-top: 0; }
section.ntp-page { break-before: page; }
section.ntp-page:first-of-type { break-before: auto; }
figure, tr, .ntp-card, .ntp-map li, div.proof > p.admonition-title { break-inside: avoid; }
h1, h2, h3, table caption, summary, .ntp-finding-number { break-after: avoid; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.bd-content .bd-article :is(pre, .highlight, .ntp-scroll, .cell_output, table, dt) {
  overflow: visible; max-height: none;
}
.sd-card { box-shadow: none !important; }
"""
# Opened in print: folded proofs, tables and strips of claims, the ledger's groups, how records were
# made.
# Cards and code stay folded.
_OPENED = re.compile(
    r'<details class="([^"]*\b(?:sd-dropdown|ntp-(?:strip|record|group|aside))\b[^"]*)"(?! open)'
)
_ARTICLE = re.compile(r"<article[^>]*>(.*)</article>", re.DOTALL)
_HEAD = re.compile(r"<link [^>]*stylesheet[^>]*>|<script\b[^>]*>.*?</script>", re.DOTALL)
_ANCHOR = re.compile(r'(<a\b[^>]*?\bhref=)"([^"]*)"')
_LINK = re.compile(r'\b(href|src)="([^"]*)"')
_NAMED = re.compile(r'\b(id|for|aria-labelledby|aria-describedby|aria-controls)="([^"]+)"')
_LOCAL = re.compile(r"url\(#([^)]+)\)")
_HEADING = re.compile(
    rf'<h([1-3])\b[^>]*>(.*?)<a [^>]*href="{BOOK}([^"]+)"[^>]*>.*?</h\1>', re.DOTALL
)
_WITHIN = re.compile(rf'href="{BOOK}([^"]+)"')


@dataclass(frozen=True)
class Heading:
    """A heading of the book: its level (1 for a page), its words, and the name of its place."""

    level: int
    title: str
    name: str


@dataclass(frozen=True)
class Document:
    """Neighbouring pages of the book as one document of HTML, and their headings in order."""

    pages: tuple[str, ...]
    text: str
    headings: tuple[Heading, ...]


def documents(html: Path, pages: Sequence[str], size: int = SIZE) -> list[Document]:
    """The pages of a site, in this order, as documents with its styles and MathJax taken from where
    they are. Raises WorkflowError for a page that is missing or holds no article.
    """
    texts = {page: _read(html, page) for page in pages}
    sections = {page: _section(page, text, texts) for page, text in texts.items()}
    linked = {name for text in sections.values() for name in _WITHIN.findall(text)}
    head = _head(texts[pages[0]], pages[0], html)
    return [
        _document(head, {page: sections[page] for page in group}, linked)
        for group in _groups({page: len(text) for page, text in sections.items()}, size)
    ]


def book_title(html: Path, page: str) -> str:
    """The title of a page of the site, as its browser shows it, without the book's if both are
    one.
    """
    match = re.search(r"<title>(.*?)</title>", _read(html, page), re.DOTALL)
    title = unescape(match[1]).strip() if match else "The book"
    page_title, _, book = title.partition(" \N{EM DASH} ")
    return page_title if page_title == book else title


def _groups(sizes: Mapping[str, int], size: int) -> Iterator[list[str]]:
    """Neighbouring pages that together are at most `size` long, or one page that is longer."""
    group: list[str] = []
    for page in sizes:
        if group and sum(sizes[each] for each in group) + sizes[page] > size:
            yield group
            group = []
        group.append(page)
    if group:
        yield group


def _document(head: str, sections: Mapping[str, str], linked: Collection[str]) -> Document:
    body = "\n".join(sections.values())
    headings = tuple(
        Heading(int(level), _words(title), name) for level, title, name in _HEADING.findall(body)
    )
    # a browser gives a PDF the place of a name only where a link of the same document leads to it
    anchors = {name for _, names in _NAMED.findall(body) for name in names.split()}
    wanted = sorted(anchors & {*linked, *(heading.name for heading in headings)})
    links = "".join(f'<a href="#{name}"></a>' for name in wanted)
    text = (
        f'{head}<body><main class="bd-main"><div class="bd-content"><div class="bd-article">{body}'
        f"</div></div></main><nav hidden>{links}</nav><script>{SCRIPT}</script></body></html>"
    )
    return Document(tuple(sections), text, headings)


def _read(html: Path, page: str) -> str:
    path = html / f"{page}.html"
    if not path.is_file():
        raise WorkflowError(f"{path} is missing. Run `make book` again.")
    return path.read_text(encoding="utf-8")


def _head(text: str, page: str, html: Path) -> str:
    """Styles, and what sets the mathematics, of the first page of the book."""
    elements = "".join(
        _LINK.sub(lambda match: _from_root(match, page), piece)
        for piece in _HEAD.findall(text.partition("</head>")[0])
        if piece.startswith("<link") or "mathjax" in piece.lower()
    )
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light" data-mode="light"><head>'
        f'<meta charset="utf-8"><base href="{escape(html.resolve().as_uri())}/">'
        f"{elements}<style>{STYLE}</style></head>"
    )


def _section(page: str, text: str, texts: Mapping[str, str]) -> str:
    """The article of a page, whose names are its own in the book, and whose links lead to the
    sections of other pages.
    """
    article = _ARTICLE.search(text)
    if article is None:
        raise WorkflowError(f"{page}.html holds no article. Run `make book` again.")

    def link(match: re.Match[str]) -> str:
        name = leads_to(match[2])
        return f'{match[1]}"{BOOK}{name}"' if name else match[0]

    def leads_to(address: str) -> str:
        path, _, anchor = address.partition("#")
        other = _joined(page, path).removesuffix(".html") if path else page
        return (
            place_name(other, anchor) if other in texts and not address.endswith(".ipynb") else ""
        )

    def other(match: re.Match[str]) -> str:
        if match[2].startswith("#"):  # within a drawing
            return f'{match[1]}="#{place_name(page, match[2][1:])}"'
        return _from_root(match, page)

    body = _OPENED.sub(r'<details open class="\1"', article[1])
    body = _NAMED.sub(lambda match: _renamed(match, page), body)
    body = _LOCAL.sub(lambda match: f"url(#{place_name(page, match[1])})", body)
    body = _LINK.sub(other, _ANCHOR.sub(link, body))
    return f'<section class="ntp-page" id="{place_name(page)}">{body}</section>'


def _renamed(match: re.Match[str], page: str) -> str:
    names = " ".join(place_name(page, name) for name in match[2].split())
    return f'{match[1]}="{names}"'


def place_name(page: str, anchor: str = "") -> str:
    """The name of a page, or of a place on it, in the book."""
    return f"{page.replace('/', '-')}--{anchor}" if anchor else page.replace("/", "-")


def _from_root(match: re.Match[str], page: str) -> str:
    """An address of a file of the site, from its first folder instead of that of a page."""
    if re.match(r"[a-z]+:|#|//", match[2]) or not match[2]:
        return match[0]
    return f'{match[1]}="{_joined(page, match[2])}"'


def _joined(page: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), address))


def _words(title: str) -> str:
    """The words of a heading without its tags and the marks of its formulas."""
    bare = re.sub(r"<[^>]*>", "", title)
    return " ".join(re.sub(r"\\[()]", "", unescape(bare)).split())

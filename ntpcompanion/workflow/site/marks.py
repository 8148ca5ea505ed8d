"""Proof that a site shows what it should: its pages, the measured numbers, and no verdict that the
build has not written itself.

What on a page shows a verdict is read as a browser reads it. A build compares these marks of its
pages with those that it has made itself: whatever way a typed one takes to a page, it is an element
there.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

import nbformat

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME, RECORD_MIME
from ntpcompanion.workflow.claims.verdict import VERDICTS
from ntpcompanion.workflow.notebooks.cells import REMOVING, tags
from ntpcompanion.workflow.notebooks.contents import CHAPTERS, toc_pages

CARD = "ntp-card"
# by these classes a reader knows a verdict, or the number that it is about
MARKS = {
    CARD,
    *(f"ntp-{name}" for name in ("badge", "facts", "strip", "row", "counts", "tally")),
    *(f"ntp-{name}" for name in ("finding-number", "record", "current", "outdated")),
    *(f"ntp-{verdict.replace(' ', '-')}" for verdict in VERDICTS),
}
ARTICLE, END = "bd-article", "ntp-end"
# nothing inside of these is seen, or it is seen as text
HIDING = {
    "canvas", "datalist", "dialog", "iframe", "noscript", "object", "option", "script", "select",
    "style", "svg", "template", "textarea", "title", "video",
}  # fmt: skip
# the classes that Sphinx, MyST-NB and we give to what holds the card of a cell, or a row
_AROUND = re.compile(
    r"docutils|container|cell|cell_\w+|output|text_html|tag_[\w-]+|(tex2jax|mathjax)_\w+"
    r"|ntp-(fold|aside|ledger|paper|group|scroll)"
)
_DATA = re.compile(r"application/([\w.+-]*\+)?json|math/\w+|text/plain")
# the scripts and styles that we load where they are needed
_OURS = re.compile(r"(\.\./)?_static/((ledger|landing)\.(css|js)|widgets/\w+\.(css|js))")
# what pandas writes into each of its tables
_PANDAS = re.compile(r"(\s*\.dataframe [\w\s:-]+\{[\w\s:;-]*\})+\s*")
_RAW = re.compile(r"^````\{raw\} html\n(.*?)\n````$", re.MULTILINE | re.DOTALL)


class Mark(NamedTuple):
    """An element that shows a verdict and stands in no other: its classes, its id, its text without
    spaces.
    """

    classes: str
    anchor: str
    text: str


@dataclass
class Seen:
    """What a page shows: its `marks`, those of them that something around them hides, the ids of
    all other elements, and what is typed there that may change how marks look.
    """

    marks: Counter[Mark] = field(default_factory=Counter)
    hidden: Counter[Mark] = field(default_factory=Counter)
    ids: set[str] = field(default_factory=set)
    active: list[str] = field(default_factory=list)


def chapter_marks(page: nbformat.NotebookNode) -> Counter[Mark]:
    """The marks that the page of a notebook is to show: of its cards, strips and records, but in
    cells whose tags take their outputs from the page.
    """
    drawn = [
        output.data.get("text/html", "")
        for cell in page.cells
        if not REMOVING & tags(cell)
        for output in cell.get("outputs", [])
        if {MEASUREMENT_MIME, RECORD_MIME} & set(output.get("data", {}))
    ]
    return sum(map(marks_of, drawn), Counter())


def site_faults(
    project: Project,
    html: Path,
    chapters: Mapping[str, Mapping[Mark, int]],
    texts: Mapping[str, str],
) -> list[str]:
    """Pages of the table of contents that are missing or cut short, and marks of verdicts, with
    the numbers that they are about, that a page lacks or that are not its own: those of `chapters`,
    by page, and elsewhere those of the generated `texts`, by name.
    """
    faults = [
        f"{page}.html is missing or cut short"
        for page in toc_pages(project)
        if "</html>" not in _raw(html / f"{page}.html")
    ]
    if not _raw(html / "index.html"):
        faults.append("index.html is missing or empty")
    made = {name: marks_of_text(text) for name, text in texts.items() if name.endswith(".md")}
    elsewhere = sum(made.values(), Counter[Mark]())
    for path in sorted(html.rglob("*.html")):
        page = path.relative_to(html).with_suffix("").as_posix()
        if page.startswith(CHAPTERS):
            of_page = mark_faults(_raw(path), chapters.get(page, {}))
        else:
            of_page = mark_faults(_raw(path), made.get(f"_{page}.md", {}), elsewhere)
        faults += [f"{page}.html {fault}" for fault in of_page]
    return faults


def _raw(page: Path) -> str:
    return page.read_text(encoding="utf-8") if page.is_file() else ""


def marks_of(html: str) -> Counter[Mark]:
    """The marks of a piece of HTML that we have made."""
    return _look(html).marks


def marks_of_text(text: str) -> Counter[Mark]:
    """The marks of a generated text in MyST: in its blocks of raw HTML, and in single lines."""
    lines = [line for line in _RAW.sub("", text).splitlines() if "<" in line]
    return sum(map(marks_of, [*_RAW.findall(text), *lines]), Counter())


def mark_faults(
    html: str, expected: Mapping[Mark, int], elsewhere: Mapping[Mark, int] | None = None
) -> list[str]:
    """What is wrong with the marks of a page of the site, whose own marks are the `expected` ones:
    those that it lacks or hides, those that this build has not made, and what could draw or change
    one. A chapter shows each as often as expected; other pages may show those `elsewhere`, too.
    """
    seen = _look(html.replace("</article>", f"<{END}></{END}></article>"))
    faults = []
    for mark in expected:
        if seen.marks[mark] - seen.hidden[mark] < expected[mark]:
            hidden = ", or hides it in what is typed around it" if seen.hidden[mark] else ""
            faults.append(f"lacks the card {_named(mark)}{hidden}")
    for mark, count in seen.marks.items():
        if count > expected.get(mark, 0) and mark not in (elsewhere or ()):
            faults.append(
                f"shows a card {_named(mark)} that no stored run has measured for it. Cards are "
                "made by `measure`: take away what is typed in a text or put out by a cell"
            )
    anchors = {mark.anchor for mark in [*expected, *(elsewhere or ())] if mark.anchor} & seen.ids
    faults += [f"has another element with the id {anchor!r} of a card" for anchor in anchors]
    return faults + seen.active


def _named(mark: Mark) -> str:
    return f"#{mark.anchor}" if mark.anchor else f"“{mark.text[:60]}”"


def _look(html: str) -> Seen:
    # here: only builds read pages
    from tinyhtml5 import parse

    seen = Seen()
    root = parse(f"<!doctype html>{html}", namespace_html_elements=False)
    articles = [element for element in root.iter("article") if ARTICLE in _classes(element)]
    if articles and not (len(articles) == 1 and _is_whole(root, articles[0])):
        seen.active.append(
            "has HTML that ends the page's own elements, or never ends: close each element where "
            "it was opened"
        )
    for child, above in _elements(root, ()):
        _note(child, above, seen, inside=any(each in above for each in articles))
    return seen


def _is_whole(root: Element, article: Element) -> bool:
    """Whether the article ends where the theme ends it: its end is marked."""
    return len(list(root.iter(END))) == 1 and article[-1].tag == END


def _elements(
    element: Element, above: tuple[Element, ...]
) -> Iterator[tuple[Element, tuple[Element, ...]]]:
    """All elements below one with those above each; what stands in a mark belongs to it."""
    for child in element:
        if isinstance(child.tag, str):  # a comment has none
            path = (*above, element)
            yield child, path
            if not _classes(child) & MARKS:
                yield from _elements(child, path)


def _note(element: Element, above: tuple[Element, ...], seen: Seen, *, inside: bool) -> None:
    if _classes(element) & MARKS:
        mark = Mark(
            " ".join(sorted(_classes(element))),
            element.get("id", ""),
            "".join("".join(_texts(element)).split()),
        )
        seen.marks[mark] += 1
        seen.hidden[mark] += any(map(_hides, above)) or _is_veiled(element)
        # nothing that runs may stand in a mark either
        parts: list[Element] = list(element.iter())
    else:
        seen.ids.add(element.get("id", ""))
        parts = [element]
    if inside:
        seen.active += filter(None, map(_runs, parts))


def _texts(element: Element) -> Iterator[str]:
    """The texts in an element; a comment is none."""
    if isinstance(element.tag, str):
        yield element.text or ""
        for child in element:
            yield from _texts(child)
            yield child.tail or ""


def _classes(element: Element) -> set[str]:
    return set(element.get("class", "").casefold().split())


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2].casefold() if isinstance(element.tag, str) else ""


def _is_veiled(element: Element) -> bool:
    return bool({"hidden", "style", "inert", "popover"} & set(element.keys()))


def _hides(element: Element) -> bool:
    """Whether what stands in an element may be hidden: outside of the article nobody types."""
    return (
        _tag(element) in HIDING
        or _is_veiled(element)
        or (
            _tag(element) in ("div", "section", "details", "p", "span")
            and "bd-" not in element.get("class", "")
            and not all(map(_AROUND.fullmatch, _classes(element)))
        )
    )


def _runs(element: Element) -> str:
    """What of an element could draw a card, or change the page; nothing if it cannot."""
    tag, attributes = _tag(element), {key.casefold(): value for key, value in element.items()}
    source = attributes.get("src", attributes.get("href", ""))
    way = "Show a picture, or an interactive figure by `plots.widget`"
    if any(name.startswith("on") for name in attributes):
        return f"has a <{tag}> with a script in an attribute, which could draw a card. {way}"
    is_ours = _OURS.fullmatch(source.partition("?")[0]) and not "".join(_texts(element)).strip()
    if tag == "script" and not is_ours and not _DATA.fullmatch(attributes.get("type", "")):
        return f"has a script, which could draw a card. {way}"
    if tag in ("base", "meta") or (tag == "link" and not is_ours) or "srcdoc" in attributes:
        return f"has a <{tag}> that could change how cards look. {way}"
    if tag == "style" and not _PANDAS.fullmatch("".join(_texts(element))):
        return (
            "has a stylesheet, which could change how cards look. Put it into book/assets, and its "
            "name under `html_css_files` in _config.yml"
        )
    return ""

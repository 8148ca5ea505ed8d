"""The generated part of the landing page: a map of the book, and findings with picture and number
from the stored runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import nbformat
from pydantic import BaseModel, ConfigDict

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.shapes import shaped
from ntpcompanion.workflow.base.yaml_files import read_yaml
from ntpcompanion.workflow.chapters import cards
from ntpcompanion.workflow.chapters.citation import Book, Chapter
from ntpcompanion.workflow.chapters.figures import SVG_MIME
from ntpcompanion.workflow.claims.claims import Claim, judge
from ntpcompanion.workflow.claims.formatting import mathematics
from ntpcompanion.workflow.notebooks.contents import CHAPTERS
from ntpcompanion.workflow.results.rows import card_url
from ntpcompanion.workflow.running.results import Result

STYLE = '<link rel="stylesheet" href="_static/landing.css">'


class Finding(BaseModel):
    """One finding: a claim that is supported, and the figure that shows it.

    `shows` says in a line what is drawn, for a reader who has not seen the chapter.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    text: str
    claim: str
    number: str
    figure: str
    shows: str


class Landing(BaseModel):
    """What `book/landing.yml` holds: texts, and where numbers and pictures come from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    start: str
    threads: dict[str, str]
    questions: dict[str, str]
    findings: list[Finding]
    card: str


@dataclass(frozen=True)
class Picture:
    """A figure of a chapter as that page shows it: HTML, and the prefix of all ids in it."""

    html: str
    prefix: str


@dataclass(frozen=True)
class Stored:
    """What the landing page is made from, beside its own texts.

    `book` is what the book says of itself; `pages` are the chapters as they are shown, `titles`
    those of all chapters, both by notebook.
    """

    book: Book
    claims: Mapping[str, Claim]
    results: Mapping[str, Result]
    pages: Mapping[str, nbformat.NotebookNode]
    titles: Mapping[str, str]


def read_landing(project: Project) -> Landing | None:
    """The content of `book/landing.yml`; None where there is none. Raises WorkflowError naming what
    does not fit.
    """
    path = project.book / "landing.yml"
    if not path.is_file():
        return None
    landing: Landing = shaped(read_yaml(path), Landing, str(path))
    return landing


def read_parts(project: Project) -> dict[str, list[str]]:
    """The notebooks of each part of the table of contents, by the caption of the part."""
    path = project.book / "_toc.yml"
    toc = read_yaml(path)
    parts = toc.get("parts", []) if isinstance(toc, dict) else []
    notebooks = {
        part.get("caption", ""): [
            item["file"].removeprefix(CHAPTERS)
            for item in part.get("chapters", [])
            if item["file"].startswith(CHAPTERS)
        ]
        for part in parts
    }
    return {caption: names for caption, names in notebooks.items() if names}


def landing_page(
    landing: Landing, parts: Mapping[str, list[str]], stored: Stored, profile: str
) -> dict[str, str]:
    """The texts by file name, as MyST: the map, the findings, a card as an example.

    Raises WorkflowError for a claim or figure that is not there, and for a finding whose claim is
    not supported at the book profile.
    """
    files = {"_map.md": _raw(_map(landing, parts, stored.titles))}
    files["_card.md"] = _raw(_example(landing.card, stored, profile))
    shown = []
    for number, finding in enumerate(landing.findings, 1):
        claim = _claim(finding.claim, stored)
        image = picture(stored.pages[claim.notebook], claim.notebook, finding.figure)
        # figures of two chapters may have the same ids, which one page must not have
        drawing = image.html.replace(image.prefix, f"finding-{number}-")
        shown.append(_finding(finding, claim, drawing, stored, profile))
    files["_findings.md"] = "\n\n".join(shown) + "\n"
    return files


def picture(page: nbformat.NotebookNode, notebook: str, figure: str) -> Picture:
    """The figure of that name in a chapter. Raises WorkflowError where it is missing."""
    for cell in page.cells:
        if cell.metadata.get("mystnb", {}).get("figure", {}).get("name") == figure:
            shown = [o["data"]["text/html"] for o in cell.outputs if _is_drawing(o)]
            if shown:
                return Picture(shown[0], f"{cell['id']}-")
    raise WorkflowError(
        f"book/landing.yml shows the figure {figure!r}, which notebook {notebook!r} does not draw. "
        "Name one of its `mystnb.figure` cells."
    )


def _is_drawing(output: nbformat.NotebookNode) -> bool:
    return {SVG_MIME, "text/html"} <= set(output.get("data", {}))


def _claim(name: str, stored: Stored) -> Claim:
    if name not in stored.claims:
        raise WorkflowError(
            f"book/landing.yml names the claim {name!r}, which is not in claims.yml."
        )
    claim = stored.claims[name]
    if name not in stored.results[claim.notebook].measured:
        raise WorkflowError(
            f"book/landing.yml names the claim {name!r}, which notebook {claim.notebook!r} did not "
            "measure."
        )
    return claim


def _finding(finding: Finding, claim: Claim, drawing: str, stored: Stored, profile: str) -> str:
    result = stored.results[claim.notebook]
    item = next(item for item in result.measurements if item.claim == claim.id)
    judgement = judge(claim, profile, item)
    # at other profiles numbers are not results, and the page says so
    if profile == "book" and judgement.verdict != "supported":
        raise WorkflowError(
            f"book/landing.yml shows {claim.id!r}, whose verdict is {judgement.verdict}: choose a "
            "finding that is supported."
        )
    number = mathematics(cards.shown(item, judgement))
    html = (
        f'<p class="ntp-finding-number"><strong>{number}</strong> '
        f'<a href="{card_url(claim, measured=True)}">{mathematics(finding.number)}</a></p>'
        f"{drawing}"
        f'<p class="ntp-finding-more">{mathematics(finding.shows)} From the chapter '
        f'<a href="chapters/{claim.notebook}.html">'
        f"{mathematics(stored.titles[claim.notebook])}</a>.</p>"
    )
    return f"### {finding.title}\n\n{finding.text}\n\n{_raw(html)}"


def _map(landing: Landing, parts: Mapping[str, list[str]], titles: Mapping[str, str]) -> str:
    if stray := sorted(set(landing.threads) - set(parts)):
        raise WorkflowError(
            f"book/landing.yml has the threads {', '.join(stray)}, which are not parts of "
            f"book/_toc.yml. Known: {', '.join(parts)}."
        )
    threads = "".join(
        f'<section><p class="ntp-thread">{escape(caption)}</p><p>{escape(about)}</p>'
        f"<ol>{''.join(_node(name, landing, titles) for name in parts[caption])}</ol></section>"
        for caption, about in landing.threads.items()
    )
    return (
        f'{STYLE}<nav class="ntp-map" aria-label="Map of the book"><p class="ntp-map-start">'
        f'{escape(landing.start)}</p><div class="ntp-threads">{threads}</div></nav>'
    )


def _node(name: str, landing: Landing, titles: Mapping[str, str]) -> str:
    title = titles[name]
    question = landing.questions.get(name, title)
    # a title that asks the question is not said twice
    below = "" if question == title else f" <span>{mathematics(title)}</span>"
    return (
        f'<li><a href="chapters/{name}.html"><strong>{mathematics(question)}</strong>{below}</a>'
        "</li>"
    )


def _example(name: str, stored: Stored, profile: str) -> str:
    """A card as it stands in its chapter, without the anchor that only that one has."""
    claim = _claim(name, stored)
    result = stored.results[claim.notebook]
    item = next(item for item in result.measurements if item.claim == name)
    chapter = Chapter(
        stored.book, claim.notebook, stored.titles[claim.notebook], result.started[:4]
    )
    html = cards.card(claim, judge(claim, profile, item), item, result, chapter)
    html = html.replace(f' id="{cards.anchor(name)}"', "", 1)
    return html.replace(f'href="#{cards.anchor(name)}"', f'href="{card_url(claim, measured=True)}"')


def _raw(html: str) -> str:
    return f"````{{raw}} html\n{html}\n````\n"

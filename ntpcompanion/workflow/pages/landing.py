"""The generated part of the landing page: a map of the book, and findings with picture and number
from the stored runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import nbformat
from pydantic import BaseModel, ConfigDict

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.yaml_files import read_yaml
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.notebooks.contents import CHAPTERS, listed
from ntpcompanion.workflow.pages.cards import Card
from ntpcompanion.workflow.pages.figures import SVG_MIME, mystnb_options
from ntpcompanion.workflow.pages.templating import fill
from ntpcompanion.workflow.pages.views import View


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


LANDING = "landing.yml"


class Landing(BaseModel):
    """What `book/landing.yml` holds: texts, and where numbers and pictures come from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    start: str
    threads: dict[str, str]
    questions: dict[str, str]
    findings: list[Finding]
    card: str


@dataclass(frozen=True, kw_only=True)
class LandingPage(View):
    """With the texts of the landing page, and the notebooks of each part of the book."""

    landing: Landing
    parts: Mapping[str, list[str]]


class Shown(NamedTuple):
    """A finding with its claim, its picture as HTML, and the title of its chapter."""

    finding: Finding
    one: JudgedClaim
    drawing: str
    chapter: str


def read_parts(project: Project) -> dict[str, list[str]]:
    """The notebooks of each part of the table of contents, by the caption of the part."""
    path = project.book / "_toc.yml"
    toc = read_yaml(path)
    parts = toc.get("parts", []) if isinstance(toc, dict) else []
    names = {part.get("caption", ""): [*listed(part.get("chapters"), path)] for part in parts}
    return {
        caption: chapters
        for caption, files in names.items()
        if (chapters := [name[len(CHAPTERS) :] for name in files if name.startswith(CHAPTERS)])
    }


def landing_page(page: LandingPage) -> dict[str, str]:
    """The texts by file name, as MyST: the map, the findings, a card as an example."""
    if stray := sorted(set(page.landing.threads) - set(page.parts)):
        raise WorkflowError(
            f"book/landing.yml has the threads {', '.join(stray)}, which are not parts of "
            f"book/_toc.yml. Known: {', '.join(page.parts)}."
        )
    findings = [_shown(page, finding, n) for n, finding in enumerate(page.landing.findings, 1)]
    one = _measured(page, page.landing.card)
    assert one.measurement
    # as it stands in its chapter, without the anchor that only that one has
    card = Card(one, one.measurement, page.results[one.claim.notebook], url=one.url)
    return {
        "_map.md": fill("map.md", page),
        "_card.md": fill("example.md", card),
        "_findings.md": fill("findings.md", findings),
    }


def _shown(page: LandingPage, finding: Finding, number: int) -> Shown:
    one = _measured(page, finding.claim)
    # at other profiles numbers are not results, and the page says so
    if page.profile == "book" and one.verdict != "supported":
        raise WorkflowError(
            f"book/landing.yml shows {finding.claim!r}, whose verdict is {one.verdict}: choose a "
            "finding that is supported."
        )
    notebook = one.claim.notebook
    drawing = picture(page.pages[notebook], notebook, finding.figure, f"finding-{number}-")
    return Shown(finding, one, drawing, page.title(notebook))


def picture(page: nbformat.NotebookNode, notebook: str, figure: str, prefix: str) -> str:
    """The figure of that name in a chapter as its page shows it, all ids in it with a `prefix` of
    their own: figures of two chapters may have the same.
    """
    for cell in page.cells:
        if mystnb_options(cell, "figure").get("name") == figure:
            for data in (output.get("data", {}) for output in cell.outputs):
                if {SVG_MIME, "text/html"} <= set(data):
                    return str(data["text/html"]).replace(f"{cell['id']}-", prefix)
    raise WorkflowError(
        f"book/landing.yml shows the figure {figure!r}, which notebook {notebook!r} does not draw. "
        "Name one of its `mystnb.figure` cells."
    )


def _measured(page: LandingPage, name: str) -> JudgedClaim:
    one = page.judged.get(name)
    if one and one.measurement:
        return one
    why = "which is not in claims.yml"
    if one:
        why = f"which notebook {one.claim.notebook!r} did not measure"
    raise WorkflowError(f"book/landing.yml names the claim {name!r}, {why}.")

"""Figures as part of a page: SVG of a notebook's output made small, with the colours of the page's
theme, wide and narrow; and interactive figures, whose scripts and style are loaded by pages that
show one, and by no other.
"""

import re
from collections.abc import Collection, Mapping
from html import escape
from pathlib import Path
from typing import Literal

import nbformat

from ntpcompanion.settings import COLOURS
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.running.results import as_run, draw

SVG_MIME = "image/svg+xml"
NARROW_MIME = "application/vnd.ntpcompanion.narrow+svg"
TYPEFACE = "Companion Sans"

GROUND = "#ffffff"  # of a word on a mark that is filled with another colour: that of the page
RAMP = ("#3b2a7a", "#9a86d8")  # dark end, light end

# typefaces of mathematics whose codes are their own
_NOT_UNICODE = re.compile(r"font(?:-family)?: [^;\"]*'(cm\w*)'")
# typefaces are those of the stylesheet; matplotlib turns each text, most by zero, and breaks lines
_UNUSED = re.compile(
    r"(?s:<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>|<!--.*?-->)"
    r"| xmlns(?::xlink)?=\"[^\"]*\"| version=\"[^\"]*\"|font-family: [^;\"]*;? ?"
    r"| transform=\"rotate\(-?0 [^)]*\)\"|(?<=>)\n\s*(?=<)"
)
_ID = re.compile(r' id="([^"]*)"')
_REFERENCE = re.compile(r'(href="#|url\(#)([^")]*)')
# coordinates, and moves: a factor of a scale keeps its digits
_ATTRIBUTE = re.compile(
    r'\b(?:d|points|[xyr]|[xy][12]|c[xy]|width|height)="[^"]*"|(?:translate|rotate)\([^)]*\)'
)
_NUMBER, _SPACES = re.compile(r"-?\d+\.\d+"), re.compile(r"\s+")
_STYLE, _SPACED = re.compile(r'style="[^"]*"'), re.compile(r"(?<=[:;]) ")
_COLOUR = re.compile(r"#[0-9a-f]{6}(?![\w-])")
_SIZE = re.compile(r'(width|height)="([\d.]+)pt"')  # points of matplotlib are those of `viewBox`


def inline_figures(page: nbformat.NotebookNode, colours: Mapping[str, str] = COLOURS) -> None:
    """Give each SVG among the outputs of a page an HTML form, which the page shows instead; of the
    `colours` it has the variables, as the settings of the book name them.

    The alternative text is that of the cell (`mystnb.image.alt`).
    """
    for cell in page.cells:
        alt = mystnb_options(cell, "image").get("alt")
        name = mystnb_options(cell, "figure").get("name", cell["id"])
        for number, output in enumerate(cell.get("outputs", [])):
            if SVG_MIME in (data := output.get("data", {})):
                draw(output, _figure(data, alt, name, f"{cell['id']}-{number}", colours))


def mystnb_options(cell: nbformat.NotebookNode, kind: Literal["figure", "image"]) -> dict[str, str]:
    """What `mystnb` of a cell says of its figure or its image; empty where it says nothing."""
    return (cell.metadata.get("mystnb") or {}).get(kind) or {}


def _figure(
    data: Mapping[str, str], alt: str | None, name: str, key: str, colours: Mapping[str, str]
) -> str:
    label = "" if alt is None else f' aria-label="{escape(alt)}"'
    parts = []
    for mime, look, prefix in (
        (SVG_MIME, "ntp-wide", f"{key}w"),
        # without our stylesheet, as in a notebook, the wide one alone is shown
        (NARROW_MIME, 'ntp-narrow" style="display:none', f"{key}n"),
    ):
        if mime in data:
            body = compact(data[mime], prefix, name, colours)
            parts.append(f'<svg class="{look}" role="img"{label} {body.removeprefix("<svg ")}')
    return f'<div class="ntp-figure">{"".join(parts)}</div>'


def compact(svg: str, prefix: str, name: str, colours: Mapping[str, str] = COLOURS) -> str:
    """An SVG of matplotlib as it stands in HTML: without what a browser does not need.

    Coordinates have two digits after the point, colours are variables, and each id that is referred
    to begins with `prefix`.
    """
    if foreign := _NOT_UNICODE.search(svg):
        raise WorkflowError(
            f"Figure {name!r} writes a sign in the typeface {foreign[1]!r}, whose codes are not "
            "Unicode's: a page would show another sign. Write √ instead of \\sqrt."
        )
    used = dict.fromkeys(re.findall(r'(?:href="#|url\(#)([^")]*)', svg))
    ids = {old: f"{prefix}{count}" for count, old in enumerate(used)}
    svg = _UNUSED.sub("", svg[svg.index("<svg") :]).strip()
    svg = _ID.sub(lambda match: f' id="{ids[match[1]]}"' if match[1] in ids else "", svg)
    svg = _REFERENCE.sub(lambda match: f"{match[1]}{ids[match[2]]}", svg).replace("xlink:", "")
    svg = _ATTRIBUTE.sub(lambda match: _SPACES.sub(" ", _NUMBER.sub(_rounded, match[0])), svg)
    svg = _STYLE.sub(lambda match: _SPACED.sub("", match[0]), svg)
    svg = _COLOUR.sub(lambda match: _themed(match[0], colours), svg)
    return _SIZE.sub(lambda match: f'{match[1]}="{float(match[2]) * 4 / 3:.0f}"', svg, count=2)


def _rounded(number: re.Match[str]) -> str:
    short = f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def _themed(colour: str, colours: Mapping[str, str]) -> str:
    if colour in colours:
        # the colour itself where no stylesheet is
        return f"var(--ntp-{colours[colour]},{colour})"
    if colour == GROUND:
        return f"var(--pst-color-background,{colour})"
    percentage = _share_of_ramp(colour)
    if percentage is None:
        return colour
    dark, light = RAMP
    return (
        f"color-mix(in srgb,var(--ntp-ramp-light,{light}) {percentage}%,"
        f"var(--ntp-ramp-dark,{dark}))"
    )


def _share_of_ramp(colour: str) -> int | None:
    """How many hundredths of the way from the dark to the light end a colour lies, if it does."""
    dark, light, channels = (
        [int(hue[k : k + 2], 16) for k in (1, 3, 5)] for hue in (*RAMP, colour)
    )
    percentage = round(100 * (channels[0] - dark[0]) / (light[0] - dark[0]))
    mixed = [a + percentage / 100 * (b - a) for a, b in zip(dark, light, strict=True)]
    near = all(abs(a - b) <= 1 for a, b in zip(mixed, channels, strict=True))
    return percentage if near and 0 <= percentage <= 100 else None


COMMON = ("plot", "widget")  # the scripts that all of them need, in their order
STATIC = "../_static/widgets"  # from a page of a chapter
_NAME = re.compile(r'<figure class="ntp-widget" data-widget="(\w+)"')
_PICTURE = re.compile(r"<svg\b.*?</svg>", re.DOTALL)


def known_widgets(book: Path) -> list[str]:
    """The names of the interactive figures that have a script in the folder `book`."""
    return sorted(path.stem for path in (book / "assets" / "widgets").glob("*.js"))


def load_widgets(
    page: nbformat.NotebookNode,
    known: Collection[str],
    where: str,
    colours: Mapping[str, str] = COLOURS,
) -> None:
    """Add to the first interactive figure of a page the style and scripts of those it shows, and
    give all their pictures the `colours` of the page's theme.
    """
    names: list[str] = []
    for cell in page.cells:
        for index, output in enumerate(cell.get("outputs", [])):
            if matches := _NAME.findall(output.get("data", {}).get("text/html", "")):
                names += matches
                cell["outputs"][index] = made = as_run(output)
                themed = _PICTURE.sub(
                    lambda svg: compact(svg[0], f"ntp-{matches[0]}-", matches[0], colours),
                    made.data["text/html"],
                )
                draw(made, themed)
    if unknown := sorted({*names} - {*known}):
        raise WorkflowError(
            f"Notebook {where!r} shows the interactive figure {unknown[0]!r}, which has no script. "
            f"Known are {', '.join(sorted(known)) or 'none'}. Correct the name, or add "
            f"book/assets/widgets/{unknown[0]}.js."
        )
    if names:
        _add_tags(page, names)


def _add_tags(page: nbformat.NotebookNode, names: list[str]) -> None:
    tags = [f'<link rel="stylesheet" href="{STATIC}/widgets.css">']
    scripts = [*COMMON, *dict.fromkeys(names)]
    tags += [f'<script defer src="{STATIC}/{name}.js"></script>' for name in scripts]
    outputs = [output for cell in page.cells for output in cell.get("outputs", [])]
    texts = [output.get("data", {}).get("text/html", "") for output in outputs]
    first = next(index for index, text in enumerate(texts) if _NAME.search(text))
    outputs[first].data["text/html"] += "".join(tags)

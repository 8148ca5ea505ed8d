"""Figures as part of a page: SVG of a notebook's output made small, with the colours of the page's
theme, wide and narrow.
"""

import functools
import re
from collections.abc import Callable, Mapping
from html import escape
from itertools import pairwise
from xml.etree import ElementTree

import nbformat

from ntpcompanion.settings import COLOURS
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.running.results import draw

SVG_MIME = "image/svg+xml"
NARROW_MIME = "application/vnd.ntpcompanion.narrow+svg"
TYPEFACE = "Companion Sans"

GROUND = "#ffffff"  # of a word on a mark that is filled with another colour: that of the page
RAMP = ("#3b2a7a", "#9a86d8")  # dark end, light end

_NAMESPACE = re.compile(r"\{[^}]*\}")
_NUMBER = re.compile(r"-?\d+\.\d+")
_COORDINATES = {"d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "points"}


def inline_figures(page: nbformat.NotebookNode, colours: Mapping[str, str] = COLOURS) -> None:
    """Give each SVG among the outputs of a page an HTML form, which the page shows instead; of the
    `colours` it has the variables, as the settings of the book name them.

    The alternative text is that of the cell (`mystnb.image.alt`). Raises WorkflowError naming the
    cell's figure if it has a sign that a page cannot show.
    """
    for cell in page.cells:
        options = cell.metadata.get("mystnb", {})
        alt = options.get("image", {}).get("alt")
        name = options.get("figure", {}).get("name", cell["id"])
        for number, output in enumerate(cell.get("outputs", [])):
            if SVG_MIME in (data := output.get("data", {})):
                draw(output, _figure(data, alt, name, f"{cell['id']}-{number}", colours))


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
    to begins with `prefix`. Raises WorkflowError naming the figure `name` for a sign without a code
    of Unicode.
    """
    root = ElementTree.fromstring(svg)
    used = dict.fromkeys(re.findall(r'(?:href="#|url\(#)([^")]*)', svg))
    ids = {old: f"{prefix}{count}" for count, old in enumerate(used)}

    @functools.cache  # the same few styles stand at thousands of marks
    def attribute(key: str, value: str) -> str | None:
        return _style(value, name, colours) if key == "style" else _attribute(key, value, ids)

    for parent in list(root.iter()):
        for child in list(parent):
            if _NAMESPACE.sub("", child.tag) in ("metadata", "style"):
                parent.remove(child)
        _join_letters(parent)
    for element in root.iter():
        _tidy(element, attribute)
    for element in root.iter("g"):
        _share_style(element)
    _size(root)
    return re.sub(r"<(defs|g)\s*/>", "", ElementTree.tostring(root, encoding="unicode"))


def _tidy(element: ElementTree.Element, attribute: Callable[[str, str], str | None]) -> None:
    element.tag = _NAMESPACE.sub("", element.tag)
    if not (element.text or "").strip() and element.tag not in ("text", "tspan"):
        element.text = None
    element.tail = None
    attributes = {_NAMESPACE.sub("", key): value for key, value in element.attrib.items()}
    element.attrib.clear()
    for key, value in attributes.items():
        if (short := attribute(key, value)) is not None:
            element.set(key, short)


def _attribute(key: str, value: str, ids: Mapping[str, str]) -> str | None:
    """The value as the page has it; None for an attribute that it does not need."""
    if key == "id":
        return ids.get(value)
    if key == "href" and value.startswith("#"):
        return f"#{ids[value[1:]]}"
    if key == "clip-path":
        return re.sub(r"#([^)]*)", lambda match: f"#{ids[match[1]]}", value)
    if key in _COORDINATES:
        return re.sub(r"\s+", " ", _NUMBER.sub(_rounded, value)).strip()
    if key == "transform":
        if re.fullmatch(r"rotate\(-?0 [^)]*\)", value):  # matplotlib turns each text, most by zero
            return None
        moves = r"(translate|rotate)\([^)]*\)"  # a factor of a scale keeps its digits
        return re.sub(moves, lambda match: _NUMBER.sub(_rounded, match[0]), value)
    return value


def _rounded(number: re.Match[str]) -> str:
    short = f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def _style(text: str, name: str, colours: Mapping[str, str]) -> str:
    declarations = []
    for part in filter(None, map(str.strip, text.split(";"))):
        key, _, value = (piece.strip() for piece in part.partition(":"))
        if key in ("font", "font-family"):
            families = re.findall(r"'([^']*)'", value)
            if any(family.startswith("cm") for family in families):
                raise WorkflowError(
                    f"Figure {name!r} writes a sign in the typeface {families[0]!r}, whose "
                    "codes are not Unicode's: a page would show another sign. Write √ instead of "
                    "\\sqrt."
                )
            if key == "font-family":
                continue  # as the stylesheet says
        themed = re.sub(r"#[0-9a-f]{6}", lambda match: _themed(match[0], colours), value)
        declarations.append(f"{key}:{themed}")
    return ";".join(declarations)


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


def _join_letters(text: ElementTree.Element) -> None:
    """Neighbouring letters of a formula that look alike and stand on one line as one element."""
    letters = [part for part in text if part.tag.endswith("tspan")]
    for one, other in pairwise(letters):
        if all(one.get(key) == other.get(key) for key in ("y", "style")):
            # the later element takes up the earlier, which may have taken up others before
            other.set("x", f"{one.get('x')} {other.get('x')}")
            other.text = f"{one.text or ''}{other.text or ''}"
            text.remove(one)


def _share_style(group: ElementTree.Element) -> None:
    """Write the style that all marks of a group have once, at the group, and draw one of those that
    would cover each other. Marks with an `opacity` keep their style: that of a group is another.
    """
    marks = [part for part in group if part.tag == "use"]
    styles = {mark.get("style", "") for mark in marks}
    alone = {part.tag for part in group} <= {"use", "defs"} and "style" not in group.attrib
    if len(marks) < 2 or len(styles) > 1 or not alone:
        return
    (style,) = styles
    properties = {part.partition(":")[0] for part in style.split(";")}
    if not style or "opacity" in properties:
        return
    group.set("style", style)
    drawn = set()
    for mark in marks:
        mark.attrib.pop("style", None)
        place = tuple(sorted(mark.attrib.items()))
        if place in drawn and not properties & {"fill-opacity", "stroke-opacity"}:
            group.remove(mark)
        drawn.add(place)


def _size(root: ElementTree.Element) -> None:
    """Width and height in pixels; matplotlib gives them in points, which are those of `viewBox`."""
    for key in ("xmlns", "version"):
        root.attrib.pop(key, None)
    for key in ("width", "height"):
        root.set(key, f"{float(root.get(key, '0').removesuffix('pt')) * 4 / 3:.0f}")

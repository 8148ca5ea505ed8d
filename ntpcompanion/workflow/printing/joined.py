"""Printed documents joined to one PDF: outline, page numbers, and links from one to another.

A browser knows the places of one document only. Each link within the book carries the name of the
place that it leads to; here the name becomes that place, whatever document it was printed in.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    Fit,
    FloatObject,
    IndirectObject,
    NameObject,
    NullObject,
    StreamObject,
    TextStringObject,
)

from ntpcompanion.workflow.printing.printed import BOOK, Heading

Place = tuple[int, float, float]  # number of the page, and the point from its lower left corner
FOOT, SIZE = 30.0, 9.0  # points: the page's number above the lower edge, and its height
WIDE = 0.556 * SIZE  # of a digit of Helvetica


def join(
    printed: Sequence[Path],
    headings: Sequence[Heading],
    parts: Mapping[str, str],
    target: Path,
    title: str,
) -> int:
    """Write the documents as one PDF, in this order, and return its number of pages.

    Parameters
    ----------
    printed
        PDFs of a browser, with the places that links lead to by name.
    headings
        the outline; headings whose place was not printed are left out.
    parts
        for the name of a page, the part of the book that it belongs to: one more level of the
        outline, above pages. Pages without a part stand on that level themselves.
    target
        the file to write.
    title
        of the book.
    """
    writer = PdfWriter()
    destinations: dict[str, Place] = {}
    for path in printed:
        reader = PdfReader(path)
        destinations |= _places(reader, len(writer.pages))
        for page in reader.pages:
            writer.add_page(page)
    for number, page in enumerate(writer.pages, start=1):
        page.pop("/StructParents", None)
        _link(page, destinations, writer)
        _number(page, number, writer)
    _outline(writer, headings, parts, destinations)
    writer.add_metadata({"/Title": title})
    writer.root_object[NameObject("/PageMode")] = NameObject("/UseOutlines")
    writer.root_object[NameObject("/Lang")] = TextStringObject("en")
    writer.write(target)
    return len(writer.pages)


def _places(reader: PdfReader, before: int) -> dict[str, Place]:
    """Where the names of a document are, after `before` pages of others."""
    destinations = {}
    for name, place in reader.named_destinations.items():
        number = reader.get_destination_page_number(place)
        if number is not None:
            destinations[unquote(name.lstrip("/"))] = (
                before + number,
                float(place.left or 0),
                float(place.top or 0),
            )
    return destinations


def _link(page: PageObject, destinations: Mapping[str, Place], writer: PdfWriter) -> None:
    """Let the links of a page lead to places of the book or to the web. What leads to a file of
    the machine where the book was printed, or to what was not printed, is text.
    """
    annotations = ArrayObject()
    for each in page.get("/Annots", ArrayObject()):
        note = each.get_object()
        address = str(note.get("/A", {}).get("/URI", ""))
        place = destinations.get(unquote(address.removeprefix(BOOK)))
        if address.startswith(BOOK) and place:
            del note["/A"]
            note[NameObject("/Dest")] = _target(writer, place)
        elif address.startswith(BOOK) or not address.startswith(("http:", "https:", "mailto:")):
            continue
        annotations.append(each)
    page[NameObject("/Annots")] = annotations


def _target(writer: PdfWriter, place: Place) -> ArrayObject:
    number, left, top = place
    page: IndirectObject | None = writer.pages[number].indirect_reference
    if page is None:
        raise RuntimeError(f"page {number} of the PDF that is written has no reference")
    kind = NameObject("/XYZ")
    return ArrayObject([page, kind, FloatObject(left), FloatObject(top), NullObject()])


def _number(page: PageObject, number: int, writer: PdfWriter) -> None:
    """Print the page's number at the middle of its foot."""
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    resources = cast(DictionaryObject, page["/Resources"])
    resources.setdefault(NameObject("/Font"), DictionaryObject())
    cast(DictionaryObject, resources["/Font"])[NameObject("/PageNumber")] = font
    left = (float(page.mediabox.width) - WIDE * len(str(number))) / 2
    before, after = StreamObject(), StreamObject()
    before.set_data(b"q\n")
    words = f"\nQ q 0.35 g BT /PageNumber {SIZE} Tf {left:.1f} {FOOT} Td ({number}) Tj ET Q\n"
    after.set_data(words.encode("ascii"))
    old = page["/Contents"]
    pieces = old if isinstance(old, ArrayObject) else [page.raw_get("/Contents")]
    page[NameObject("/Contents")] = ArrayObject(
        [writer._add_object(before), *pieces, writer._add_object(after)]
    )


def _outline(
    writer: PdfWriter,
    headings: Sequence[Heading],
    parts: Mapping[str, str],
    destinations: Mapping[str, Place],
) -> None:
    """Parts, pages and sections, each below the last one of a higher level."""
    above: dict[int, IndirectObject] = {}
    last = ""
    for heading in headings:
        if heading.name not in destinations:
            continue
        number, left, top = destinations[heading.name]
        part = parts.get(heading.name.partition("--")[0], "")
        if heading.level == 1 and part != last:
            above = {0: _entry(writer, part, destinations[heading.name], None)} if part else {}
            last = part
        higher = [level for level in above if level < heading.level]
        parent = above[max(higher)] if higher else None
        above = {level: above[level] for level in higher}
        above[heading.level] = _entry(writer, heading.title, (number, left, top), parent)


def _entry(
    writer: PdfWriter, title: str, place: Place, parent: IndirectObject | None
) -> IndirectObject:
    number, left, top = place
    return writer.add_outline_item(
        title=title,
        page_number=number,
        parent=parent,
        fit=Fit.xyz(left=left, top=top, zoom=0),
        is_open=False,
    )

"""Documents without a browser: blank pages, joined."""

import pypdf

from ntpcompanion.workflow.printing.joined import join
from ntpcompanion.workflow.printing.printed import Heading


def _blank(path, pages):
    writer = pypdf.PdfWriter()
    for _ in range(pages):
        page = writer.add_blank_page(200, 100)
        content = pypdf.generic.StreamObject()
        content.set_data(b" ")
        page[pypdf.generic.NameObject("/Contents")] = writer._add_object(content)
    writer.write(path)
    return path


def test_pages_are_numbered_through_and_headings_without_a_place_are_left_out(tmp_path):
    files = [_blank(tmp_path / "a.pdf", 1), _blank(tmp_path / "b.pdf", 2)]
    target = tmp_path / "book.pdf"
    assert join(files, [Heading(1, "Nowhere", "x")], {}, target, "A title") == 3
    book = pypdf.PdfReader(target)
    assert [page.extract_text().strip() for page in book.pages] == ["1", "2", "3"]
    assert book.outline == []
    assert book.metadata.title == "A title"

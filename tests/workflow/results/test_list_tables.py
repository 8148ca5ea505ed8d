import pytest
from docutils import nodes
from docutils.core import publish_doctree
from myst_parser.docutils_ import Parser

from ntpcompanion.workflow.results.list_tables import list_table

ROWS = [["Name", "Number"], ["a *word*", "1"], ["first line\n\n    second line", ""]]


@pytest.mark.parametrize("widths", [(), (30, 70)])
def test_the_table_is_read_as_it_was_written(widths):
    settings = {"myst_enable_extensions": ["colon_fence"], "report_level": 2, "halt_level": 2}
    tree = publish_doctree(list_table(ROWS, widths), parser=Parser(), settings_overrides=settings)
    (table,) = tree.findall(nodes.table)
    rows = [[cell.astext() for cell in row.children] for row in table.findall(nodes.row)]
    assert rows == [["Name", "Number"], ["a word", "1"], ["first line\n\nsecond line", ""]]
    (head,) = table.findall(nodes.thead)
    assert head.astext() == "Name\n\nNumber"
    if widths:
        assert [each["colwidth"] for each in table.findall(nodes.colspec)] == [30, 70]

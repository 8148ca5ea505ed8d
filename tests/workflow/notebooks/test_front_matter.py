"""Front matter as MyST reads it, but strictly."""

from pathlib import Path

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.notebooks.front_matter import read_front_matter


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("", {}),
        ("# A page\n---\na: 1\n---\n", {}),
        ("---\na: 1\nb: {c: x}\n---\nd: 2\n", {"a": 1, "b": {"c": "x"}}),
        ("\ufeff---\na: 1\n...\nb: 2\n", {"a": 1}),
        ("---\na: 1\n", {"a": 1}),
        ("---\nno entries\n---\n", {}),
    ],
)
def test_entries_stand_between_the_lines_of_dashes(text, entries):
    assert read_front_matter(text, Path("page.md")) == entries


@pytest.mark.parametrize("text", ["---\na: [\n---\n", "---\na: 1\na: 2\n---\n"])
def test_what_cannot_be_read_is_named(text):
    with pytest.raises(WorkflowError, match=r"page.md, front matter cannot be read"):
        read_front_matter(text, Path("page.md"))

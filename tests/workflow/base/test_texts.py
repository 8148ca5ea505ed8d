"""Texts whose lines every program counts alike, and what is not such a text."""

import contextlib
import io
import re
import sys
import unicodedata

import pytest
import yaml

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.texts import read_text, require_plain_lines

EVERY = "".join(chr(i) for i in range(sys.maxunicode + 1) if not 0xD800 <= i < 0xE000)
SPACES = re.findall(r"[\s\x00-\x1f\x7f-\x9f]", EVERY)  # and controls


def _divides(character):
    """Whether something in Python, or its reader of YAML, ends a line at a character."""
    text = f"a: 1{character}b: 2"
    yield len(text.splitlines()) > 1
    yield len(text.encode().splitlines()) > 1
    yield len(list(io.StringIO(text, newline=None))) > 1
    with contextlib.suppress(yaml.YAMLError):
        yield "b" in yaml.safe_load(text)


# of the characters that are not spaces and no controls, `str.splitlines` takes none
AMBIGUOUS = [c for c in SPACES if c != "\n" and any(_divides(c))]


def named(character):
    """How a message names a character on the second line of a text."""
    return rf"line 2: U\+{ord(character):04X} \("


def test_what_may_end_a_line_is_known():
    ends = {line[-1] for line in EVERY.splitlines(keepends=True)[:-1]}
    assert ends - {"\n"} <= set(AMBIGUOUS)
    assert "".join(AMBIGUOUS) == "\x0b\x0c\r\x1c\x1d\x1e\x85\u2028\u2029"


@pytest.mark.parametrize("character", [*AMBIGUOUS, "\0", "\x07", "\x1b", "\x7f", "\x80"], ids=ascii)
def test_a_character_that_may_end_a_line_is_named_with_its_line(tmp_path, character):
    (tmp_path / "a.md").write_text(f"one\ntwo{character}three\n", encoding="utf-8", newline="")
    with pytest.raises(WorkflowError, match=rf"a\.md, {named(character)}.* after 'two'"):
        read_text(tmp_path / "a.md")


def test_every_other_character_is_plain():
    plain = [c for c in EVERY if unicodedata.category(c) not in ("Cc", "Zl", "Zp")]
    require_plain_lines("".join(plain) + "\t\r\n\n", "here")


def test_a_mark_is_left_out_and_lines_end_alike(tmp_path):
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\n\xef\xbb\xbfthree\n")
    assert read_text(tmp_path / "a.md") == "one\ntwo\n\ufeffthree\n"

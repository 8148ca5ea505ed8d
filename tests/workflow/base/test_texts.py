"""Texts whose lines every program counts alike, and what is not such a text."""

import sys
import unicodedata

import pytest

from ntpcompanion.workflow.base.files import read_text, require_plain_lines
from tests.refusing import refused

EVERY = "".join(chr(i) for i in range(sys.maxunicode + 1) if not 0xD800 <= i < 0xE000)
# where something in Python, or its reader of YAML, ends a line
AMBIGUOUS = "\x0b\x0c\r\x1c\x1d\x1e\x85\u2028\u2029"


def test_what_may_end_a_line_is_known():
    assert {line[-1] for line in EVERY.splitlines(keepends=True)[:-1]} <= {*AMBIGUOUS, "\n"}


@pytest.mark.parametrize("character", [*AMBIGUOUS, "\0", "\x07", "\x1b", "\x7f", "\x80"], ids=ascii)
def test_a_character_that_may_end_a_line_is_named_with_its_line(tmp_path, character):
    (tmp_path / "a.md").write_text(f"one\ntwo{character}three\n", encoding="utf-8", newline="")
    with refused(rf"a\.md, line 2: U\+{ord(character):04X} \(.* after 'two'"):
        read_text(tmp_path / "a.md")


def test_every_other_character_is_plain():
    plain = [c for c in EVERY if unicodedata.category(c) not in ("Cc", "Zl", "Zp")]
    require_plain_lines("".join(plain) + "\t\r\n\n", "here")


def test_a_mark_is_left_out_and_lines_end_alike(tmp_path):
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\n\xef\xbb\xbfthree\n")
    assert read_text(tmp_path / "a.md") == "one\ntwo\n\ufeffthree\n"

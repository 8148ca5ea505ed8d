"""Texts in UTF-8 whose lines every program counts alike."""

import re
import unicodedata
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError

MARK = "\ufeff"  # the byte order mark, which some editors write before a text in UTF-8
# controls, line and paragraph separators, and a carriage return without a line feed: at some of
# them `str.splitlines`, YAML or MyST end a line, at others Python's tokenizer, at others a browser
_AMBIGUOUS = re.compile(r"\r(?!\n)|[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\U0010ffff]")


def read_text(path: Path) -> str:
    """The text of a file, lines ended by a line feed, without a byte order mark.

    Raises WorkflowError if it cannot be read, is not UTF-8, or holds a character that
    `require_plain_lines` rejects.
    """
    try:
        text = path.read_bytes().decode()
    except (OSError, ValueError) as error:  # ValueError: bytes that are not UTF-8
        raise WorkflowError(
            f"{path} cannot be read: {error}. It must be a text in UTF-8 that you may read."
        ) from error
    require_plain_lines(text, str(path))
    return text.removeprefix(MARK).replace("\r\n", "\n")


def require_plain_lines(text: str, where: str) -> None:
    """Raises WorkflowError, which begins with `where`, if `text` holds a control or a separator
    other than tabs and ends of lines: programs disagree on whether a line ends there, and what one
    takes for code another takes for prose.
    """
    if not (match := _AMBIGUOUS.search(text)):
        return
    character, before = match[0], text[: match.start()]
    shown = before.rpartition("\n")[2][-30:].removeprefix(MARK)
    name = unicodedata.name(character, "control character").lower()  # controls have none
    raise WorkflowError(
        f"{where}, line {before.count(chr(10)) + 1}: U+{ord(character):04X} ({name}) stands "
        f"{f'after {shown!r}' if shown else 'at the beginning'}. Programs disagree on whether it "
        "ends a line. Put a space or a new line in its place; in a text of Python, write it as "
        f"{character.encode('unicode_escape').decode()}."
    )

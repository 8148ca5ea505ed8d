"""The one exception that the command line shows as a sentence instead of a traceback."""

import difflib
import re
from collections.abc import Iterable


class WorkflowError(Exception):
    """Something a user can mend: the message names it, shows what came and says what to do."""


def nearest(name: str, known: Iterable[str]) -> str:
    """`" Did you mean 'x'?"` for a close known name, else an empty string."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def plain(text: str) -> str:
    """A text without the colours that a tool meant for a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)

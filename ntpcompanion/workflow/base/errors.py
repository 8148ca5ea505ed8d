"""The one exception that the command line shows as a sentence instead of a traceback."""

import contextlib
import re
from collections.abc import Iterable, Iterator

from ntpcompanion.spelling import known_as, nearest


class WorkflowError(Exception):
    """Something a user can fix: the message names it, shows what came and says what to do.

    Any function of the workflow may raise it: docstrings name it where the message alone does not
    say when.
    """


def plain(text: str) -> str:
    """A text without the colours that a tool meant for a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def require_known(kind: str, name: str, known: Iterable[str]) -> str:
    """The known name that looks like `name`."""
    known = list(known)
    if (match := known_as(name, known)) not in known:
        listed = ", ".join(known) or "none"
        raise WorkflowError(f"No {kind} {name!r}.{nearest(name, known)} Known: {listed}.")
    return match


@contextlib.contextmanager
def explained(sentence: str) -> Iterator[None]:
    """A fault of files within the block becomes a WorkflowError: `{}` of the sentence is why."""
    try:
        yield
    except OSError as error:
        raise WorkflowError(sentence.replace("{}", str(error.strerror or error))) from error

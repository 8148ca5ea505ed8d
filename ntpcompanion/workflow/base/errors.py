"""The one exception that the command line shows as a sentence instead of a traceback."""

import re


class WorkflowError(Exception):
    """Something a user can fix: the message names it, shows what came and says what to do.

    Any function of the workflow may raise it: docstrings name it where the message alone does not
    say when.
    """


def plain(text: str) -> str:
    """A text without the colours that a tool meant for a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)

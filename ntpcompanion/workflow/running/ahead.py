"""A fork server that loads the libraries while the command that will need it is loaded itself: both
take a second, and neither waits for the other.
"""

import contextlib
from collections.abc import Iterator, Sequence

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.running.workers import FORKS, Server

COMMANDS = ["execute"]  # those that nearly always begin a notebook


@contextlib.contextmanager
def started_ahead(arguments: Sequence[str]) -> Iterator[Server | None]:
    """A server for the command of these arguments, which is ended with the context; None where the
    command needs none, or will say itself why there can be none.
    """
    server = None
    if FORKS and list(arguments[:1]) == COMMANDS and "--help" not in arguments:
        with contextlib.suppress(WorkflowError, OSError):
            server = Server(Project.find())
    try:
        yield server
    finally:
        if server:
            server.end()

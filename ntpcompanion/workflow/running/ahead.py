"""A fork server that loads the libraries while the command that will need it is loaded itself: both
take a second, and neither waits for the other.
"""

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.running.workers import Workers

COMMANDS = ["execute"]  # those that nearly always begin a notebook
# not an argument: the library that reads the command line calls what needs it
_STARTED: ContextVar[Workers | None] = ContextVar("_STARTED", default=None)


@contextlib.contextmanager
def started_ahead(arguments: Sequence[str]) -> Iterator[None]:
    """Within the context, `present_workers` are those for a command with these arguments, and the
    first of them is about to be ready.
    """
    with contextlib.ExitStack() as until_the_end:
        workers = None
        if list(arguments[:1]) == COMMANDS and "--help" not in arguments:
            with contextlib.suppress(WorkflowError, OSError):  # the command will say it itself
                workers = until_the_end.enter_context(Workers(Project.find()))
                workers.begin()
        token = _STARTED.set(workers)
        until_the_end.callback(_STARTED.reset, token)
        yield


def present_workers() -> Workers | None:
    """Those that have been started for the command that runs; None if it was not asked for any."""
    return _STARTED.get()

"""What a worker is told, one notebook to be executed, and what it says to the runner: lines on its
standard output behind a mark, so that what a kernel prints there does no harm.
"""

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import write_atomically

MARK = "\x1entp "
# bytes of the folder above: macOS and Linux allow 103 for a socket, and /ntp-12345678/kernel-1
# comes on top
LONGEST = 80


@dataclass(frozen=True, kw_only=True)
class Job:
    """A notebook to be executed."""

    notebook: str  # in the format of Jupyter (JSON), without outputs
    parameters: Mapping[str, object]  # that papermill injects
    folder: str  # this and the next two of the kernel, as `Start` has them
    import_path: list[str]
    readable: list[str]
    fonts: str  # a folder with the list of typefaces that Matplotlib has made on this machine
    cell_timeout: float | None  # seconds that a cell may take
    output: str  # where the executed notebook is written
    # a folder for the sockets of the kernel, and all that it keeps. The worker removes it, so that
    # it does not outlive a runner that was killed
    sockets: str

    def write(self, path: Path) -> list[str]:
        """Write the job to a file; return the command of the worker that executes it."""
        write_atomically(path, json.dumps(asdict(self)))
        return [sys.executable, "-m", "ntpcompanion.workflow.running.worker", str(path)]

    @classmethod
    def read(cls, path: Path) -> "Job":
        """The job that `write` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


def socket_folder() -> tempfile.TemporaryDirectory[str]:
    """A new private folder, removed after use: below the temporary one, or below `/tmp` where
    TMPDIR is too long for sockets.
    """
    requested = tempfile.gettempdir()
    for above in (requested, "/tmp"):
        short = sys.platform == "win32" or len(os.fsencode(above)) <= LONGEST
        if short and os.access(above, os.W_OK):
            return tempfile.TemporaryDirectory(prefix="ntp-", dir=above, ignore_cleanup_errors=True)
    raise WorkflowError(
        f"TMPDIR is {requested!r}: sockets need a folder of at most {LONGEST} bytes that can be "
        "written. Set it to such a one."
    )


@dataclass(frozen=True)
class Cell:
    """Code cell number `cell` of `of` begins, counted from 1."""

    cell: int
    of: int


@dataclass(frozen=True)
class Done:
    """Every cell ran: seconds of each code cell, peak memory of the kernel in bytes, what its
    processes wrote down (`tracing.Log`), and notes for the user.
    """

    cell_seconds: list[float]
    peak_memory: int
    read: dict[str, list[str]]
    absent: list[str]
    modules: list[str]
    measured: list[str]
    notes: list[str]


@dataclass(frozen=True)
class Failed:
    """The code cell number `cell`, with this `source`, did not end well; `absent` are the relative
    paths that were opened and do not exist.
    """

    cell: int
    source: str
    error: str
    traceback: str
    absent: list[str] = field(default_factory=list)


Message = Cell | Done | Failed
KINDS: dict[str, type[Message]] = {kind.__name__: kind for kind in (Cell, Done, Failed)}


def line_of(message: Message) -> str:
    """A message as a line."""
    return MARK + json.dumps([type(message).__name__, asdict(message)])


def parse(line: str) -> Message | None:
    """The message of a line of a worker's output, or None if the line ends in no whole message;
    what a kernel printed before it without ending its line is left out.
    """
    try:
        kind, fields = json.loads(line.rpartition(MARK)[2])
        return KINDS[kind](**fields) if MARK in line else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None

"""What a worker says to the runner: JSON lines on standard output behind a
mark, so that what a kernel prints there does no harm.
"""

import json
from dataclasses import asdict, dataclass, field

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

MARK = "\x1entp "
_WHOLE = ConfigDict(extra="forbid", strict=True)


@with_config(_WHOLE)
@dataclass(frozen=True)
class Cell:
    """Code cell number `cell` of `of` begins, counted from 1."""

    cell: int
    of: int


@with_config(_WHOLE)
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


@with_config(_WHOLE)
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
_MESSAGES: TypeAdapter[Message] = TypeAdapter(Message)


def send(message: Message) -> None:
    """One line to the runner."""
    print(MARK + json.dumps(asdict(message)), flush=True)


def parse(line: str) -> Message | None:
    """The message of a line of a worker's output, or None if the line ends in no whole message.

    What a kernel printed before the message without ending its line is left out.
    """
    _, mark, text = line.rpartition(MARK)
    try:
        return _MESSAGES.validate_json(text) if mark else None
    except ValidationError:
        return None

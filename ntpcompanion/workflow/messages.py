"""What a worker says to its runner: JSON lines on standard output under a mark, so that what a kernel prints there does no harm."""

import json

MARK = "\x1entp "


def say(message: dict) -> None:
    """One line to the runner."""
    print(MARK + json.dumps(message), flush=True)


def heard(line: str) -> dict | None:
    """The message of a line of a worker's output, or None if the line is something else."""
    return json.loads(line[len(MARK) :]) if line.startswith(MARK) else None

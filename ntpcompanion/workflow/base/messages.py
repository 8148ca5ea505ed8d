"""What a worker says to its runner: JSON lines on standard output behind a mark, so that what a
kernel prints there does no harm.
"""

import json

MARK = "\x1entp "
KINDS = (
    {"cell": int, "of": int},
    {"done": {"cell_seconds": list, "peak_memory": int, "read": dict}},
    {"failed": {"cell": int, "source": str, "error": str, "traceback": str}},
)


def say(message: dict) -> None:
    """One line to the runner."""
    print(MARK + json.dumps(message), flush=True)


def heard(line: str) -> dict | None:
    """The message of a line of a worker's output, or None if the line ends in no whole message of
    one of the `KINDS`.

    What a kernel printed before the message without ending its line is left out.
    """
    _, mark, text = line.rpartition(MARK)
    try:
        message = json.loads(text) if mark else None
    except (ValueError, RecursionError):
        return None
    return message if any(_fits(message, entries) for entries in KINDS) else None


def _fits(data: object, entries: dict) -> bool:
    """Whether `data` is a dict of exactly these entries, each of its type, or in turn such a
    dict.
    """
    if not isinstance(data, dict) or set(data) != set(entries):
        return False
    return all(
        _fits(data[name], kind) if isinstance(kind, dict) else isinstance(data[name], kind)
        for name, kind in entries.items()
    )

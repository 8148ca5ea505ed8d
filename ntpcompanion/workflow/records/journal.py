"""Finished tasks on disk: a line of JSON each, permanent before the next is waited for."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from ntpcompanion.workflow.base.files import as_json

FIELDS = {"parameters", "result", "seconds"}


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a journal in order; one that was cut short by a kill, or that no record can
    hold, is left out.
    """
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                data = as_json(json.loads(line))
            except (ValueError, RecursionError):
                continue
            if isinstance(data, dict) and set(data) >= FIELDS:
                yield data


@contextmanager
def appended(path: Path) -> Iterator[TextIO]:
    """The journal, open for `append`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        yield file


def append(journal: TextIO, line: dict[str, Any]) -> None:
    """Write a line, and return when it is on the disk. Raises OSError if it cannot be."""
    # the line break comes first: a line that was cut short spoils no other
    journal.write("\n" + json.dumps(line))
    journal.flush()
    os.fsync(journal.fileno())

"""Finished tasks on disk: a line of JSON each, permanent before the next is waited for, and sealed
with what made it.
"""

import json
import os
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Any, TextIO

from ntpcompanion.workflow.base.files import as_json, checksum
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware, hardware_line
from ntpcompanion.workflow.sweeps.task_inputs import changed_inputs, present_digests

FIELDS = {"key", "parameters", "result", "seconds", "read", "hardware", "checksum"}
SHOWN = 5  # of many lines that are not used
Line = dict[str, Any]


def read_journal(path: Path) -> Iterator[Line]:
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


def finished_lines(
    path: Path,
    keys: Container[str],
    project: Project,
    *,
    elsewhere: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, Line]:
    """The lines of a journal that answer for tasks with these keys, by key; of several the last.

    A line that does not fit the data files of the project and, unless the tasks run `elsewhere`,
    this machine is left out, so that its task is run again; `note` is given a sentence for each.
    """
    digest = present_digests(project)
    finished, left_out = {}, {}
    for line in read_journal(path):
        if line["key"] not in keys:
            continue
        changed = changed_inputs(digest, line["read"])
        if line["checksum"] != checksum(line):
            misfit = "does not match its own checksum: it was edited or damaged"
        elif not elsewhere and line["hardware"] != hardware():
            misfit = f"was made on another machine ({hardware_line(line['hardware'])})"
        elif changed:
            misfit = f"was made with another content of {', '.join(changed)}"
        else:
            finished[line["key"]] = line
            continue
        left_out[line["key"]] = f"The line of {line['parameters']} {misfit}."
    sentences = [text for key, text in left_out.items() if key not in finished]
    for text in sentences[:SHOWN]:
        note(f"{path.name}: {text} The task is run again.")
    if more := sentences[SHOWN:]:
        note(f"{path.name}: {len(more)} more lines do not fit. Their tasks are run again.")
    return finished


def appended(path: Path) -> TextIO:
    """The journal, open for `append`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a", encoding="utf-8")


def append(journal: TextIO, line: Line) -> Line:
    """Write a line with its checksum, and return it when it is on the disk. Raises OSError if it
    cannot be.
    """
    sealed = {**line, "checksum": checksum(line)}
    # the line break comes first: a line that was cut short spoils no other
    journal.write("\n" + json.dumps(sealed))
    journal.flush()
    os.fsync(journal.fileno())
    return sealed

"""Finished tasks on disk: a line of JSON each, permanent before the next is waited for, and sealed
with what made it.
"""

import functools
import json
import os
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from ntpcompanion.workflow.base.files import as_json, checksum
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware, hardware_line
from ntpcompanion.workflow.base.tracing import state_of
from ntpcompanion.workflow.sweeps.task_inputs import input_path

FIELDS = {"key", "parameters", "result", "seconds", "read", "hardware", "checksum"}
SHOWN = 5  # of many lines that are not used


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


@dataclass(frozen=True)
class Present:
    """What a line of a journal must fit to be used: the data files of the project, and the machine.
    `elsewhere`: the tasks run on a cluster, whose machines are its own.
    """

    project: Project
    elsewhere: bool = False

    def misfits(self, lines: list[dict[str, Any]]) -> list[str]:
        """For each line why it cannot be used, in words; empty where it can."""
        # a data file is read once for all lines
        digest = functools.cache(lambda name: state_of(input_path(self.project, name)))
        return [self._misfit(line, digest) for line in lines]

    def _misfit(self, line: dict[str, Any], digest: Callable[[str], str]) -> str:
        if line["checksum"] != checksum(line):
            return "does not match its own checksum: it was edited or damaged"
        if not self.elsewhere and line["hardware"] != hardware():
            return f"was made on another machine ({hardware_line(line['hardware'])})"
        changed = [name for name, seen in line["read"].items() if digest(name) != seen]
        return f"was made with another content of {', '.join(changed)}" if changed else ""


def finished_lines(
    path: Path,
    keys: Container[str],
    present: Present,
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, dict[str, Any]]:
    """The lines of a journal that answer for tasks with these keys, by key; of several the last.

    A line that does not fit the present is left out, so that its task is run again; `note` is given
    a sentence for each.
    """
    lines = [line for line in read_journal(path) if line["key"] in keys]
    finished, left_out = {}, {}
    for line, misfit in zip(lines, present.misfits(lines), strict=True):
        if misfit:
            left_out[line["key"]] = f"The line of {line['parameters']} {misfit}."
        else:
            finished[line["key"]] = line
    sentences = [text for key, text in left_out.items() if key not in finished]
    for text in sentences[:SHOWN]:
        note(f"{path.name}: {text} The task is run again.")
    if more := sentences[SHOWN:]:
        note(f"{path.name}: {len(more)} more lines do not fit. Their tasks are run again.")
    return finished


@contextmanager
def appended(path: Path) -> Iterator[TextIO]:
    """The journal, open for `append`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        yield file


def append(journal: TextIO, line: dict[str, Any]) -> dict[str, Any]:
    """Write a line with its checksum, and return it when it is on the disk. Raises OSError if it
    cannot be.
    """
    sealed = {**line, "checksum": checksum(line)}
    # the line break comes first: a line that was cut short spoils no other
    journal.write("\n" + json.dumps(sealed))
    journal.flush()
    os.fsync(journal.fileno())
    return sealed

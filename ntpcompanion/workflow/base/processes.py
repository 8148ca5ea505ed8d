"""Programs that this process starts: run and ended after a time, and none outlives it.

A process that ends with `kill -9` cannot tell those it has started. They hold a `Lifeline` instead,
a pipe that the operating system closes, and `end_with_parent` waits for that.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil

BROWSERS = ("chromium", "google-chrome", "chrome")


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code (that of a signal is negative), and what it wrote to
    standard output and to standard error.
    """

    code: int
    output: str
    errors: str


class Lifeline:
    """The standard input of programs that must not outlive this process.

    Nothing is ever written to it. Its other end is open here only: it is closed by `cut`, at the
    end of a `with` block, or by the end of this process, whatever ends it. Several programs can
    share one.
    """

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.stdin = open(reading)
        self._writing = open(writing, "w")

    def cut(self) -> None:
        """End the programs that hold it."""
        self._writing.close()

    def __enter__(self) -> "Lifeline":
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self.stdin.close()


def end_with_parent() -> None:
    """From now on this process ends with the one that has started it, or with its `Lifeline`."""

    def wait() -> None:
        with contextlib.suppress(OSError):
            # not of `sys.stdin`: at the end of Python nobody may still wait in its lock
            os.read(0, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    limit: float | None = None,
) -> Ended:
    """Start a program, wait for its end, and return what it wrote.

    It is ended, with all that it has started, if this function is left early. Raises OSError if it
    cannot be started, and TimeoutError if it has not ended within `limit` seconds.
    """
    with (
        Lifeline() as parent,
        # files, not pipes: what the program has started could keep a pipe open after its end
        _scratch() as output,
        _scratch() as errors,
        subprocess.Popen(
            command, stdin=parent.stdin, stdout=output, stderr=errors, env=environment, cwd=folder
        ) as process,
    ):
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            end_tree(process)
            raise TimeoutError(f"no answer within {limit} s") from None
        except BaseException:
            end_tree(process)
            raise
        for file in (output, errors):
            file.seek(0)
        return Ended(code, output.read(), errors.read())


def _scratch() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")


def end_tree(program: subprocess.Popen[Any]) -> None:
    """Kill a program and all that it has started, and what those have started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(program.pid)
        process.suspend()  # so that it starts nothing between the look and the end
        for each in (*process.children(recursive=True), process):
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()


def find_browser() -> str | None:
    """The path of a browser that can read the built pages, None if there is none on PATH."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)

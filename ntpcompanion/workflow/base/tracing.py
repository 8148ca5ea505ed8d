"""What a process reads of the project: modules from their sources, and every file that it opens
traced in a log.

Run as a script it is the start of a kernel, `python -P tracing.py LOG FOLDERS -f CONNECTION`. It
imports nothing of the project: that would be loaded before the rule holds.
"""

import hashlib
import json
import os
import runpy
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from pathlib import Path
from types import CodeType
from typing import Any

# how a folder of theirs ends
INSTALLED = ("site-packages", "dist-packages", ".egg-info", ".dist-info")
# of no use to cells that nobody types or steps through, and slow to import
FOR_PEOPLE = ("debugpy", "jedi")
# with what a kernel starts
STARTS = (__file__, str(Path(__file__).parents[1] / "running" / "fork_server.py"))
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class SourceLoader(SourceFileLoader):
    """Compiles what stands in the file now. A compiled copy is trusted by date and size, which two
    sources can share.
    """

    def get_code(self, fullname: str) -> CodeType:
        """The code of a module, compiled from its source."""
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def import_from_sources(folders: Sequence[str]) -> None:
    """From now on this process imports modules below `folders` from their sources, and neither
    reads nor writes compiled copies.

    Installed packages are left out, also where an environment lies in one of the folders: they keep
    their quick imports.
    """
    belongs = membership(folders)
    details = (ExtensionFileLoader, EXTENSION_SUFFIXES), (SourceLoader, SOURCE_SUFFIXES)

    def find(path: str) -> FileFinder:
        if not belongs(os.path.abspath(path)):
            raise ImportError("not of the project")  # the next hook of `sys.path_hooks` is asked
        return FileFinder(path, *details)

    sys.path_hooks.insert(0, find)
    sys.path_importer_cache.clear()


def write_down_opened_files(folders: Sequence[str], log: str) -> None:
    """Append a line of JSON to `log` for each file below `folders` (or equal to one) that this
    process opens from now on.

    A line is `[path, SHA-256 of the content]`, or `[path, null]` if it is opened for writing or
    takes the place of another. Files of installed packages and of caches, compiled copies and the
    two with which a kernel starts are left out; so are the stubs of faces, of which only the
    names used count (`workflow/running/faces.py`).
    """
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    sys.addaudithook(OpenedFiles(membership(folders), target).hear)


class OpenedFiles:
    """An audit hook of Python that writes the files that `belongs` accepts to the file `target`."""

    def __init__(self, belongs: Callable[[str], bool], target: int) -> None:
        self.belongs, self.target = belongs, target
        self.known: set[tuple[str, int, int, int, int]] = set()
        self.busy = threading.local()  # the hook opens files itself

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note the file of an event; what else happens is ignored."""
        if event not in ("open", "os.rename") or getattr(self.busy, "now", False):
            return
        if event == "open":
            path, written = arguments[0], bool(arguments[2] & WRITING)
        else:
            path, written = arguments[1], True
        if not isinstance(path, (str, bytes, os.PathLike)):
            return  # the number of a file that is open already
        self.busy.now = True
        try:
            self.note(os.path.abspath(os.fsdecode(path)), written)
        except (OSError, ValueError):
            pass  # it cannot be opened: whoever asked for it will be told
        finally:
            self.busy.now = False

    def note(self, place: str, written: bool) -> None:
        """Write the line of a file that is opened, unless it has the state of an earlier one."""
        if not self.belongs(place) or place.endswith((".pyc", ".pyi")) or place in STARTS:
            return
        digest = None
        if not written:
            state = os.stat(place)
            version = (place, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
            if version in self.known or not os.path.isfile(place):
                return
            self.known.add(version)
            digest = hashlib.sha256(Path(place).read_bytes()).hexdigest()
        os.write(self.target, (json.dumps([os.path.realpath(place), digest]) + "\n").encode())


def read_log(log: Path) -> dict[str, list[str]]:
    """What `write_down_opened_files` wrote: the distinct hashes of each file that was read and not
    written.
    """
    lines = (
        [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        if log.is_file()
        else []
    )
    written = {path for path, digest in lines if digest is None}
    found: dict[str, list[str]] = {}
    for path, digest in lines:
        if path not in written and digest not in found.setdefault(path, []):
            found[path].append(digest)
    return found


def membership(folders: Sequence[str]) -> Callable[[str], bool]:
    """A function: whether a path is one of `folders` or below one, and not that of an installed
    package or of a cache.
    """
    # a virtual environment, and the caches of the project's own, may lie below a folder of the
    # project
    foreign = [
        os.path.abspath(place).rstrip(os.sep) + os.sep
        for place in (sys.prefix, os.environ.get("XDG_CACHE_HOME"))
        if place
    ]

    def holds(folder: str, path: str) -> bool:
        if path == folder:
            return True
        below = folder.rstrip(os.sep) + os.sep
        if not path.startswith(below) or any(
            place.startswith(below) and path.startswith(place) for place in foreign
        ):
            return False
        return not any(part.endswith(INSTALLED) for part in path[len(below) :].split(os.sep))

    own = [os.path.abspath(folder) for folder in folders]
    return lambda path: any(holds(folder, path) for folder in own)


def leave_out_what_serves_people() -> None:
    """From now on these packages are as if they were not installed."""
    for name in FOR_PEOPLE:
        sys.modules[name] = None  # type: ignore[assignment]  # how Python marks what is not there


def main() -> None:
    """Start the kernel: of its arguments, the log and the folders as JSON are ours, the rest is for
    ipykernel.
    """
    log, folders = sys.argv[1], json.loads(sys.argv[2])
    del sys.argv[1:3]
    import_from_sources(folders)
    write_down_opened_files(folders, log)
    leave_out_what_serves_people()
    sys.path.insert(0, "")  # as `python -m` does; the launcher removes it
    runpy.run_module("ipykernel_launcher", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

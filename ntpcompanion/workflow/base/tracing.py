"""What a process that makes numbers does before anything else: it imports modules of the project
from their sources, and writes down what it reads besides the folder that was laid out for it.

A run has a copy of this file in its start folder (`workflow/running/start.py`). It imports the
standard library only: whatever it imported of the project would be loaded before its rules hold.
"""

import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
MEASURED = "ntpcompanion.measure"  # the audit event of `measure`


class SourceLoader(SourceFileLoader):
    """Compiles what stands in the file now, or takes a compiled copy with the hash of this source
    (PEP 552). A copy known by date and size only is not trusted: two sources can share them.
    """

    def path_stats(self, path: object) -> dict[str, float]:
        """A date that no compiled copy has."""
        return {"mtime": -1, "size": -1}

    def set_data(self, *_: object, **__: object) -> None:
        """Keep no compiled copy."""


def import_from_sources(folders: Sequence[str]) -> None:
    """From now on this process imports modules below `folders` from their sources, and neither
    reads nor writes compiled copies.

    Installed packages lie elsewhere and keep their quick imports.
    """
    lies_outside = outside(folders)
    details = (ExtensionFileLoader, EXTENSION_SUFFIXES), (SourceLoader, SOURCE_SUFFIXES)

    def find(path: str) -> FileFinder:
        if lies_outside(os.path.realpath(path)) or not os.path.isdir(path):
            raise ImportError("not of the project")  # the next hook of `sys.path_hooks` is asked
        return FileFinder(path, *details)

    sys.path_hooks.insert(0, find)
    sys.path_importer_cache.clear()


def record_reads(belongs: Callable[[str], bool], log: str) -> None:
    """Append a line of JSON to `log` for each file that `belongs` accepts and this process reads
    from now on, for each folder that it lists, package that it imports, and call of `measure`.
    """
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    sys.addaudithook(Recorder(belongs, target).record)


class Recorder:
    """An audit hook of Python that writes what it learns to the file with the descriptor `target`.

    Lines are `["read", path, SHA-256]`, `["written", path]` of a file or a new folder, `["listed",
    path, SHA-256 of the names]`, `["absent", path]` for a relative path that does not exist,
    `["module", name]` for the first part of an imported name, and `["measured", claim]`.
    """

    def __init__(self, belongs: Callable[[str], bool], target: int) -> None:
        self.belongs, self.target = belongs, target
        self.known: set[object] = set()
        self.busy = threading.local()  # the hook opens files itself

    def record(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Write the line of an event; of what cannot be opened whoever asks for it will hear."""
        if event not in EVENTS or getattr(self.busy, "now", False):
            return
        self.busy.now = True
        try:
            EVENTS[event](self, *arguments)
        except (OSError, ValueError, TypeError):
            pass  # the number of a file that is open already, a path that cannot be
        finally:
            self.busy.now = False

    def _opened(self, path: Any, mode: object, flags: int) -> None:
        self._file(path, written=bool(flags & WRITING))

    def _renamed(self, source: object, target: Any, *_: object) -> None:
        self._file(target, written=True)

    def _made(self, folder: Any, *_: object) -> None:
        # the event comes before the act: what is there already was made by somebody else
        if not os.path.lexists(folder):
            self._file(folder, written=True)

    def _connected(self, database: Any) -> None:
        self._file(database, written=False)

    def _listed(self, folder: Any = None) -> None:
        place = os.path.realpath(os.fsdecode(folder or "."))
        if not self.belongs(place):
            return
        # the import system lists where it looks for modules
        code = place in map(os.path.realpath, sys.path) or place.endswith("__pycache__")
        if not code and not os.path.exists(f"{place}/__init__.py"):
            self._line("listed", place, _digest(Path(place)))

    def _imported(self, name: str, *_: object) -> None:
        first = name.partition(".")[0]
        if first not in sys.stdlib_module_names:
            self._line("module", first)

    def _measured(self, claim: str) -> None:
        # not once for each claim: the second call is a mistake of its own
        os.write(self.target, (json.dumps(["measured", claim]) + "\n").encode())

    def _file(self, path: Any, *, written: bool) -> None:
        text = os.fsdecode(path)
        place = os.path.realpath(text)
        if place.endswith(".pyc"):  # of code that lies elsewhere
            folder, name = os.path.split(place)
            place = os.path.join(os.path.dirname(folder), name.partition(".")[0] + ".py")
        if not written and not os.path.exists(place):
            if not os.path.isabs(text) and not text.startswith(":"):
                self._line("absent", text)
        # a stub is read for the names of a package: of these only the used ones count; and what an
        # installer has noted beside sources decides nothing
        elif self.belongs(place) and not place.endswith(".pyi") and ".egg-info/" not in place:
            if written:
                self._line("written", place)
            elif os.path.isfile(place):
                state = os.stat(place)
                version = (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
                if (place, version) not in self.known:
                    self.known.add((place, version))
                    self._line("read", place, _digest(Path(place)))

    def _line(self, *parts: str) -> None:
        if parts not in self.known:
            self.known.add(parts)
            os.write(self.target, (json.dumps(parts) + "\n").encode())


EVENTS: dict[str, Callable[..., None]] = {
    "open": Recorder._opened,
    "os.rename": Recorder._renamed,
    "os.mkdir": Recorder._made,
    "sqlite3.connect": Recorder._connected,
    "os.listdir": Recorder._listed,
    "os.scandir": Recorder._listed,
    "import": Recorder._imported,
    MEASURED: Recorder._measured,
}


@dataclass(frozen=True)
class Log:
    """What processes wrote down: the distinct digests of each file or folder that was read before
    it was written, relative paths that do not exist, first parts of imported names, and the claims
    that were measured, in order.
    """

    read: dict[str, list[str]]
    absent: frozenset[str]
    modules: frozenset[str]
    measured: tuple[str, ...]


def read_events(log: Path) -> Log:
    """Everything that stands in a log; nothing if there is none."""
    text = log.read_text(encoding="utf-8") if log.is_file() else ""
    lines = [json.loads(line) for line in text.split("\n") if line]
    written: set[str] = set()
    read: dict[str, list[str]] = {}
    for kind, name, *digest in lines:
        if kind == "written":
            written.add(name)
        elif kind in ("read", "listed") and name not in written:
            known = read.setdefault(name, [])
            known += [each for each in digest if each not in known]

    def named(kind: str) -> list[str]:
        return [line[1] for line in lines if line[0] == kind]

    return Log(
        read, frozenset(named("absent")), frozenset(named("module")), tuple(named("measured"))
    )


def state_of(path: Path) -> str:
    """SHA-256 of a file, or of the names in a folder; a word where it cannot be read."""
    try:
        return _digest(path)
    except OSError:
        return "missing"


def _digest(path: Path) -> str:
    """SHA-256 of a file, or of the names in a folder. Raises OSError."""
    if path.is_dir():
        names = "\0".join(sorted(os.listdir(path)))
        return hashlib.sha256(names.encode(errors="surrogateescape")).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def outside(folders: Sequence[str]) -> Callable[[str], bool]:
    """A function: whether a path is neither one of `folders` nor below one."""
    below = tuple(os.path.realpath(folder).rstrip(os.sep) + os.sep for folder in folders)
    return lambda path: not f"{path}{os.sep}".startswith(below)

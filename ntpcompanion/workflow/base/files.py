"""Files that are either whole or absent, texts whose lines every program counts alike, and JSON
that knows when it was touched.
"""

import contextlib
import hashlib
import json
import os
import re
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError, explained
from ntpcompanion.workflow.base.tracing import state_of

MARK = "\ufeff"  # the byte order mark, which some editors write before a text in UTF-8
# controls, line and paragraph separators, and a carriage return without a line feed: at some of
# them `str.splitlines`, YAML or MyST end a line, at others Python's tokenizer, at others a browser
_AMBIGUOUS = re.compile(r"\r(?!\n)|[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\U0010ffff]")


def sha256(data: bytes | str) -> str:
    """Hexadecimal SHA-256 of bytes, or of a text in UTF-8."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def search_path(folders: Iterable[Path | str]) -> str:
    """Folders as PYTHONPATH takes them."""
    paths = list(dict.fromkeys(map(str, folders)))
    for path in paths:
        if os.pathsep in path:
            raise WorkflowError(
                f"{path} has {os.pathsep!r} in its name, by which Python separates folders: it "
                "would import modules from another folder. Rename it, or copy it to another place."
            )
    return os.pathsep.join(paths)


def require_utf8(path: Path) -> None:
    """Raises WorkflowError for a path that is not UTF-8, which no page or record can name."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise WorkflowError(
            f"The name of {str(path)!a} is not UTF-8, as the names of files of a book are. "
            "Rename it."
        ) from None


def files_below(folder: Path) -> Iterator[Path]:
    for place, _, names in walk_below(folder):
        yield from (path for name in names if (path := place / name).is_file())


def walk_below(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """`os.walk` through linked folders, too. A link to a folder that holds it, or that the walk has
    come through, is not followed. Raises WorkflowError for a folder that cannot be listed.
    """
    through = {str(folder): _with_parents(os.path.realpath(folder))}
    for place, folders, names in os.walk(folder, followlinks=True, onerror=_unlisted):
        above = through.pop(place)
        real = {name: os.path.realpath(os.path.join(place, name)) for name in folders}
        folders[:] = [name for name in folders if real[name] not in above]
        for name in folders:
            through[os.path.join(place, name)] = above | _with_parents(real[name])
        for name in [*folders, *names]:
            require_utf8(Path(place, name))
        yield Path(place), folders, names


def _with_parents(path: str) -> set[str]:
    return {path, *map(str, Path(path).parents)}


def _unlisted(error: OSError) -> None:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return  # it is gone, or was never there: nothing to read
    raise WorkflowError(
        f"{error.filename} cannot be listed: {error.strerror}. Correct its permissions."
    ) from error


def names_beside(path: Path) -> list[str]:
    """The names of the files and folders where `path` is, or should be; none if nobody can tell."""
    try:
        return os.listdir(path.parent)
    except (OSError, ValueError):  # ValueError: a null in the name
        return []


def canonical_json(data: object) -> str:
    """JSON with sorted keys and no spaces: equal data, equal text. NaN and infinities are
    rejected.
    """
    return json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def user_path(path: object) -> Path:
    """A path that a user gave, `~` at its start resolved; `~nobody` stays as it is, and is then a
    file that does not exist.
    """
    return Path(os.path.expanduser(str(path)))


def read_input(path: Path) -> bytes:
    """The content of a file that decides numbers."""
    with explained(f"{path} cannot be read: {{}}. Fix its permissions, or name another file."):
        return path.read_bytes()


def read_text(path: Path) -> str:
    """The text of a file, lines ended by a line feed, without a byte order mark."""
    try:
        text = path.read_bytes().decode()
    except (OSError, ValueError) as error:  # ValueError: bytes that are not UTF-8
        raise WorkflowError(
            f"{path} cannot be read: {error}. It must be a text in UTF-8 that you may read."
        ) from error
    require_plain_lines(text, str(path))
    return text.removeprefix(MARK).replace("\r\n", "\n")


def require_plain_lines(text: str, where: str) -> None:
    """Raises WorkflowError, which begins with `where`, if `text` holds a control or a separator
    other than tabs and ends of lines: programs disagree on whether a line ends there, and what one
    takes for code another takes for prose.
    """
    if not (match := _AMBIGUOUS.search(text)):
        return
    character, before = match[0], text[: match.start()]
    shown = before.rpartition("\n")[2][-30:].removeprefix(MARK)
    name = unicodedata.name(character, "control character").lower()  # controls have none
    raise WorkflowError(
        f"{where}, line {before.count(chr(10)) + 1}: U+{ord(character):04X} ({name}) stands "
        f"{f'after {shown!r}' if shown else 'at the beginning'}. Programs disagree on whether it "
        "ends a line. Put a space or a new line in its place; in a text of Python, write it as "
        f"{character.encode('unicode_escape').decode()}."
    )


def as_json(value: object) -> object:
    """The value as a JSON file gives it back: tuples become lists, keys become texts.

    Raises ValueError where JSON has none like it: NaN and infinities, arrays, sets, texts that
    UTF-8 cannot encode, endless nesting.
    """
    try:
        return json.loads(canonical_json(value).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"JSON cannot hold it: {error}") from error


def read_json(path: Path) -> object:
    unread = f"{path} cannot be read: {{}}. Fix its permissions, or what stands in its place."
    try:
        with explained(unread):
            return json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=_reject)
    except (ValueError, RecursionError) as error:
        raise WorkflowError(
            f"{path} cannot be read as JSON ({error}). It is truncated or damaged: make it again."
        ) from error


def write_atomically(path: Path, text: str) -> bool:
    """Write `text` in UTF-8 by way of a temporary file beside `path`; return whether the file
    changed.

    A kill or a full disk leaves the old file, never half of a new one. A file that already holds
    `text` is not touched, so that its date keeps its meaning for incremental builds. Raises
    WorkflowError if the file cannot be written.
    """
    return write_bytes_atomically(path, text.encode())


def write_bytes_atomically(path: Path, data: bytes) -> bool:
    """As `write_atomically`, for what is not text."""
    with contextlib.suppress(OSError):
        if path.read_bytes() == data:
            return False
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".tmp", delete=False
        ) as file:
            temporary = file.name
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # a temporary file is private; what replaces `path` is read by servers too
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if not isinstance(error, OSError):  # Ctrl-C
            raise
        reason = error.strerror or error
        if isinstance(error, FileExistsError):
            reason = f"{error.filename} is a file, no folder"
        raise WorkflowError(
            f"Could not write {path}: {reason}. Free some space or fix the "
            "permissions; the old file, if any, is intact."
        ) from error
    return True


def write_sealed(path: Path, data: Mapping[str, object]) -> None:
    sealed = {**data, "checksum": checksum(data)}
    write_atomically(path, json.dumps(sealed, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_sealed(path: Path) -> dict[str, Any]:
    """Read what `write_sealed` wrote. Raises WorkflowError if it is not a JSON object or was edited
    by hand or by a fault.
    """
    data = read_json(path)
    try:
        whole = isinstance(data, dict) and data.get("checksum") == checksum(data)
    # a text that UTF-8 cannot encode, or nesting that can be read but not written
    except (ValueError, RecursionError):
        whole = False
    if not isinstance(data, dict) or not whole:
        raise WorkflowError(
            f"{path} does not match its own checksum: it was edited or damaged. Make it again, or "
            "restore it from git."
        )
    return data


def checksum(data: Mapping[str, object]) -> str:
    """SHA-256 of the canonical JSON of `data` without its key `checksum`."""
    return sha256(canonical_json({key: value for key, value in data.items() if key != "checksum"}))


def _reject(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")


def digest_of(paths: Iterable[Path]) -> str:
    """One hash over files and over all files of folders, with their names; what is missing does not
    count.
    """
    files = sorted(
        {
            file
            for path in paths
            for file in (files_below(path) if path.is_dir() else [path])
            if file.is_file()
        }
    )
    return sha256(canonical_json([[str(file), state_of(file)] for file in files]))

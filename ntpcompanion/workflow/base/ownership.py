"""Whose a folder is: what is generated belongs to one checkout, and nothing else is removed. And
paths that other programs can take.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError

MARK = ".checkout"  # in a generated folder: the root of the checkout that it belongs to
# by these a folder is known that was made before there were marks
KNOWN = (
    "sphinx",
    "lab",
    "html-work",
    "runs",
    "records",
    "cache",
    "tmp",
    "release",
)


def search_path(folders: Iterable[Path | str]) -> str:
    """Folders as PYTHONPATH takes them. Raises WorkflowError for one whose name it would split:
    modules would be imported from another folder.
    """
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


def require_own(root: Path, folder: Path) -> None:
    """Raises WorkflowError if a folder of generated files belongs to another checkout than that at
    `root`.
    """
    other = _owner(folder)
    if other and other != root.resolve() and _is_shared(folder, other, root):
        raise WorkflowError(
            f"{folder} belongs to the checkout {other}: each would publish what the other has "
            "made. Give this checkout a folder of its own: remove the link that leads there."
        )


def mark_own(root: Path, folder: Path) -> None:
    """Note that a folder, if it is there, belongs to the checkout at `root`. Raises WorkflowError
    if it is another's, or right below `root` and holds what no checkout has made; OSError if it
    cannot be written.
    """
    require_own(root, folder)
    if not folder.is_dir() or (owner := _owner(folder)) == root.resolve():
        return
    names = sorted(path.name for path in folder.iterdir() if path.name[0] != ".")
    if owner is None and names and folder.parent == root and not {*names} & {*KNOWN}:
        raise WorkflowError(
            f"{folder} holds what ntpcompanion has not made: {', '.join(names[:3])}. Builds "
            "replace what lies there: move it to another place."
        )
    (folder / MARK).write_text(f"{root.resolve()}\n", encoding="utf-8")


def _owner(folder: Path) -> Path | None:
    """The root that the mark of a folder names; None without a mark."""
    try:
        return Path((folder / MARK).read_text(encoding="utf-8").rstrip("\n"))
    except (OSError, ValueError):
        return None


def _is_shared(folder: Path, other: Path, root: Path) -> bool:
    """Whether the checkout `other` still has the folder; not where this one was moved or copied
    with all that it had generated.
    """
    try:
        return (other / folder.relative_to(root)).samefile(folder)
    except (OSError, ValueError):
        return False

"""A folder for the sockets of a kernel: short, private, removed after use, and by the next user if
its own was killed.
"""

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from ntpcompanion.workflow.base.errors import WorkflowError

PREFIX = "ntp-"
MARK = ".made-by-ntpcompanion"  # holds the path of the folder: a copy of it is not ours
# bytes of the folder above: macOS and Linux allow 103 for a socket, and /ntp-12345678/kernel-1
# comes on top
LONGEST = 80
YOUNG = 60  # seconds in which a folder may be without its lock, because it is just being made


@contextlib.contextmanager
def socket_folder() -> Iterator[str]:
    """A new folder below the temporary one, or below `/tmp` where TMPDIR is too long for sockets.

    Raises WorkflowError if neither will do.
    """
    above = _short_folder(tempfile.gettempdir())
    _remove_abandoned(Path(above))
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX, dir=above) as folder,
        FileLock(Path(folder, "lock")),
    ):
        Path(folder, MARK).write_bytes(os.fsencode(folder))
        yield folder


def _short_folder(requested: str) -> str:
    for folder in (requested, "/tmp"):
        if sys.platform == "win32" or (
            len(os.fsencode(folder)) <= LONGEST and os.access(folder, os.W_OK)
        ):
            return folder
    raise WorkflowError(
        f"TMPDIR is {requested!r}: sockets need a folder of at most {LONGEST} bytes that can be "
        "written. Set it to such a one."
    )


def _remove_abandoned(above: Path) -> None:
    """Remove the folders that `socket_folder` has made and whose owner does not hold their lock any
    more: it ends with a process, however that ends.
    """
    for mark in above.glob(f"{PREFIX}*/{MARK}"):
        # in use, or another user's, or just removed by another worker
        with contextlib.suppress(Timeout, OSError):
            if _is_ours(mark) and time.time() - mark.parent.stat().st_mtime > YOUNG:
                with FileLock(mark.with_name("lock"), timeout=0):
                    shutil.rmtree(mark.parent, ignore_errors=True)


def _is_ours(mark: Path) -> bool:
    """Whether the folder of a mark is the one that the mark names, private, and this user's."""
    folder = mark.parent.lstat()
    is_private = stat.S_ISDIR(folder.st_mode) and not stat.S_IMODE(folder.st_mode) & 0o077
    if sys.platform != "win32" and not (is_private and folder.st_uid == os.geteuid()):
        return False
    return mark.read_bytes() == os.fsencode(mark.parent)

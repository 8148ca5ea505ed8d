"""A folder for the sockets of a kernel: short, private, removed after use."""

import contextlib
import os
import sys
import tempfile

from ntpcompanion.workflow.base.errors import WorkflowError

# bytes of the folder above: macOS and Linux allow 103 for a socket, and /ntp-12345678/kernel-1
# comes on top
LONGEST = 80


def socket_folder() -> contextlib.AbstractContextManager[str]:
    """A new folder below the temporary one, or below `/tmp` where TMPDIR is too long for sockets.

    Raises WorkflowError if neither will do.
    """
    above = _short_folder(tempfile.gettempdir())
    return tempfile.TemporaryDirectory(prefix="ntp-", dir=above, ignore_cleanup_errors=True)


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

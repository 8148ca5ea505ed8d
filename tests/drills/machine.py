"""Wrappers that give one command a machine with a fault: a full disk, a folder that cannot be
written. Linux only, without privileges.
"""

import os
import shutil
import subprocess
import sys

import pytest

POSIX = pytest.mark.skipif(
    sys.platform == "win32", reason="signals, memory limits and make are those of POSIX systems"
)
LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="a limit on memory is kept by Linux only"
)
ISOLATED = ["unshare", "--user", "--map-root-user", "--mount"]


def needs_namespaces():
    """Skip where the machine gives a command no mounts of its own; fail where CI runs on Linux:
    there it can be allowed.
    """
    if (
        sys.platform != "linux"
        or not shutil.which("unshare")
        or subprocess.run([*ISOLATED, "true"], capture_output=True).returncode
    ):
        stop = pytest.fail if os.environ.get("CI") and sys.platform == "linux" else pytest.skip
        stop("needs `unshare` with user namespaces, to give a command a small disk of its own")


def small_disk(folder, free, *, after):
    """A wrapper under which `folder` is a disk with what was in it and `free` bytes more; what it
    holds in the end is copied to `after`.

    `after` may be `folder` itself: the command then seems to have run on the small disk all along.
    """
    used = sum(
        4096 * -(-path.stat().st_size // 4096) for path in folder.rglob("*") if path.is_file()
    )
    mount = (
        f'set -e; t=$(mktemp -d); mount -t tmpfs -o size={used + free} none "$t"; '
        'cp -a "$0/." "$t"; mount --move "$t" "$0"; rmdir "$t"'
    )
    keep = (
        'k=$(mktemp -d); cp -a "$0/." "$k"; umount "$0"; '
        'find "$1" -mindepth 1 -delete; cp -a "$k/." "$1"; rm -r "$k"'
    )
    script = (
        f'after=$1; shift; {mount}; set +e; "$@"; code=$?; '
        f'set -e; set -- "$after"; {keep}; exit $code'
    )
    return [*ISOLATED, "sh", "-c", script, str(folder), str(after)]


def read_only(folder):
    """A wrapper under which `folder` cannot be written."""
    return [
        *ISOLATED,
        "sh",
        "-c",
        'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"',
        str(folder),
    ]

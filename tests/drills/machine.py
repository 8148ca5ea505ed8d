"""Wrappers that give one command a machine with a fault: a full disk, a folder that cannot be written. Linux only, without privileges."""

import shutil
import subprocess
import sys

import pytest

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals, memory limits and make are those of POSIX systems")
ISOLATED = ["unshare", "--user", "--map-root-user", "--mount"]


def needs_namespaces():
    """Skip where the machine gives a command no mounts of its own."""
    if sys.platform != "linux" or not shutil.which("unshare") or subprocess.run([*ISOLATED, "true"], capture_output=True).returncode:
        pytest.skip("needs `unshare` with user namespaces, to give a command a small disk of its own")


def small_disk(folder, free, *, then=""):
    """A wrapper under which `folder` is a disk with what was in it and `free` bytes more; `then` is run after the command."""
    used = sum(4096 * -(-path.stat().st_size // 4096) for path in folder.rglob("*") if path.is_file())
    mount = f'set -e; t=$(mktemp -d); mount -t tmpfs -o size={used + free} none "$t"; cp -a "$0/." "$t"; mount --move "$t" "$0"; rmdir "$t"'
    return [*ISOLATED, "sh", "-c", f'{mount}; set +e; "$@"; code=$?; {then or ":"}; exit $code', str(folder)]


def read_only(folder):
    """A wrapper under which `folder` cannot be written."""
    return [*ISOLATED, "sh", "-c", 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"', str(folder)]

"""Waiting for what other processes do."""

import contextlib
import time

import psutil

LIMIT = 120  # seconds: long for a busy machine, short beside what is ended


def wait_for(condition):
    """Return when it holds; it must do so in time."""
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


def ended(pid):
    """Whether the process of that number has ended, be it that nobody has asked how."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True

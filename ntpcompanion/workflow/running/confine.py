"""`python -I -S confine.py FOLDERS COMMAND ...`: become a command that can read below some folders
only, where the system offers it (Landlock, Linux 5.19 and newer); elsewhere just the command.

It imports the standard library only, as it is started without the project.
"""

import ctypes
import json
import os
import sys
from collections.abc import Iterable

# of the interface of the kernel, `linux/landlock.h`; the numbers of calls are those of all machines
CREATE, ADD, RESTRICT, BELOW_PATH = 444, 445, 446, 1
EXECUTE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 2, 1 << 3
MOVE = 1 << 13  # to another folder: forbidden by any rules that do not allow it, since version 2
VERSION = 1
NO_NEW_PRIVILEGES = 38  # of prctl


class _Rules(ctypes.Structure):
    _fields_ = (("handled", ctypes.c_uint64),)


class _Below(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def read_only_below(paths: Iterable[str]) -> bool:
    """From now on this process and those it starts can neither read files, list folders nor start
    programs elsewhere than below these folders (or at these files). They can still write, and ask
    whether something exists. Returns whether the system could do so; raises OSError if it does not
    take its own rules.
    """
    if sys.platform != "linux":
        return False
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    if call(CREATE, None, ctypes.c_size_t(0), VERSION) < 2:  # older, or switched off
        return False
    reading = EXECUTE | READ_FILE | READ_FOLDER
    handled = _Rules(reading | MOVE)
    rules = call(CREATE, ctypes.byref(handled), ctypes.c_size_t(ctypes.sizeof(handled)), 0)
    if rules < 0:
        raise OSError(ctypes.get_errno(), "the rules for reading were not taken")
    _allow(call, rules, "/", MOVE)
    for path in paths:
        _allow(call, rules, path, reading)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or call(RESTRICT, rules, 0):
        raise OSError(ctypes.get_errno(), "the rules for reading were not taken")
    os.close(rules)
    return True


def _allow(call: "ctypes._FuncPointer", rules: int, place: str, allowed: int) -> None:
    try:
        folder = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # there is none: nothing to read
    try:
        if not os.path.isdir(place):
            allowed &= ~READ_FOLDER
        rule = _Below(allowed, folder)
        if call(ADD, rules, BELOW_PATH, ctypes.byref(rule), 0):
            raise OSError(ctypes.get_errno(), "no rule for reading", place)
    finally:
        os.close(folder)


def main() -> None:
    """Read the arguments, close what is not named, and become the command."""
    read_only_below(json.loads(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()

"""The largest resident size that this process reaches while it computes something."""

import contextlib
import math
from pathlib import Path

PROCESS = Path("/proc/self")
# sizes are given in steps of this many GiB, upwards: the last megabytes differ from run to run
GRAIN = 0.5


def forget_peak() -> None:
    """Start to measure anew: the peak so far, of other work or of a parent, no longer counts.

    Nothing happens where the system has no such thing; `peak_gib` then gives what it has.
    """
    with contextlib.suppress(OSError):
        (PROCESS / "clear_refs").write_text("5", encoding="ascii")


def read_peak() -> float | None:
    """Peak resident size of this program since `forget_peak`, in GiB; None where the system does
    not tell. (What `getrusage` says begins with the peak of the process that started this one.)
    """
    try:
        lines = (PROCESS / "status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    kib = next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), None)
    return None if kib is None else kib / 2**20


def peak_gib() -> float | None:
    """`read_peak` rounded up to a half."""
    peak = read_peak()
    return None if peak is None else GRAIN * math.ceil(peak / GRAIN)

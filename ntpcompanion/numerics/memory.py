"""A rejection in words before arrays are made that the machine has no memory for, and the largest
resident size that this process reaches while it computes something.
"""

import contextlib
import math
import os
from pathlib import Path

# where a container writes the bytes that its processes may use
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
PROCESS = Path("/proc/self")
# sizes are given in steps of this many GiB, upwards: the last megabytes differ from run to run
GRAIN = 0.5


def check_dense(name: str, arrays: int, shape: tuple[int, int]) -> None:
    """ValueError if so many dense float64 arrays of one shape (contexts, tokens) at a time exceed
    the machine's memory; it names the argument that makes them so large.
    """
    needed, memory = 8 * arrays * shape[0] * shape[1], machine_memory()
    if memory is not None and needed > memory:
        raise ValueError(
            f"`{name}` is too large: {arrays} dense arrays of shape {shape} take "
            f"{needed / 2**30:.3g} GiB, and this machine has {memory / 2**30:.3g} GiB. Take fewer "
            "contexts or a smaller vocabulary."
        )


def machine_memory() -> int | None:
    """The bytes of memory that this process can use at most; None where the system does not say."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
    try:
        return min(memory, int(CONTAINER_LIMIT.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit
        return memory


def forget_peak() -> None:
    """Start to measure anew, where the system can: `read_peak` then leaves out what was before."""
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

"""Memory of this process."""

import resource
import sys
from pathlib import Path


def peak_memory() -> float:
    """The most memory that this process has held at once, in GiB.

    Linux tells it of the program itself (VmHWM). `getrusage` does not: what it says begins with the
    most that the process held from which this one was made.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        (line,) = [one for one in status.read_text().splitlines() if one.startswith("VmHWM")]
        return int(line.split()[1]) / 2**20
    unit = 2**30 if sys.platform == "darwin" else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit

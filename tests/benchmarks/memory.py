"""Memory of this process."""

import resource
import sys

from ntpcompanion.numerics.memory import read_peak


def peak_memory() -> float:
    """The most memory that this process has held at once, in GiB, by `getrusage` where the system
    tells nothing better.
    """
    if (peak := read_peak()) is not None:
        return peak
    unit = 2**30 if sys.platform == "darwin" else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit

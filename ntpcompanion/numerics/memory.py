"""A rejection in words before arrays are made that the machine has no memory for."""

import os
from pathlib import Path

# where a container writes the bytes that its processes may use
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def check_dense(name: str, arrays: int, shape: tuple[int, int]) -> None:
    """ValueError if so many dense float64 arrays of one shape do not fit into the machine's memory.

    Parameters
    ----------
    name
        the argument whose size makes them so large.
    arrays
        how many the computation holds at a time.
    shape
        (contexts, tokens).
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

"""How many threads the products of a solver get: small ones a single one, as threads that wait for each other cost more than they bring."""

import contextlib
import functools
import sys
from collections.abc import Iterator

import numpy.linalg  # noqa: F401  loaded here, so that `_pools` finds them
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController

# A product of so many multiplications takes one core a millisecond or two. Below it, a second thread saves a quarter of a
# solver's time at most; where other processes want the cores, waiting for it takes up to thirty times as long as the work.
SMALL = 5e7


@contextlib.contextmanager
def threads_by_size(multiplications: float) -> Iterator[None]:
    """One thread for NumPy, SciPy and torch while the block runs, if its products are small; the caller's setting afterwards.

    Parameters
    ----------
    multiplications
        those of the largest product that the block makes again and again: (m, k) times (k, n) has m·k·n, the solution of n equations
        n³/3. From `SMALL` on, the number of threads stays what the caller has chosen.

    Notes
    -----
    The pools of NumPy and SciPy belong to the process: its other threads find them with one thread, too, while the block runs.
    Entering and leaving takes some fifty microseconds, so a block is a whole solver rather than a step of it.
    """
    if multiplications >= SMALL:
        yield
        return
    with _pools().limit(limits=1, user_api="blas"), _one_torch_thread():
        yield


@contextlib.contextmanager
def _one_torch_thread() -> Iterator[None]:
    torch = sys.modules.get("torch")  # what is not imported before the block makes no products in it
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@functools.cache
def _pools() -> ThreadpoolController:
    """The pools of the libraries of NumPy and SciPy. To look for them takes a millisecond, as long as some solvers."""
    return ThreadpoolController()

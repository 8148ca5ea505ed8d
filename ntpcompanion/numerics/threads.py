"""How many threads the products of a solver get: small ones a single one, as threads that wait for
each other cost more than they bring.
"""

import contextlib
import functools
import sys
from collections.abc import Iterator

import numpy.linalg  # noqa: F401  loaded here, so that `_pools` finds them
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController

# Below these sizes one core is best: multiplications of a product that is repeated alone, the same
# where it is one of many operations of a step, and equations of a dense system. They lie between
# sizes that were timed on two cores of an AMD EPYC, alone and beside four busy processes: below,
# waiting for the second core took up to ten times as long as the work; above, two cores were
# quicker where both were free.
SMALL_PRODUCT, SMALL_STEP, SMALL_SYSTEM = 15_000_000, 200_000_000, 1_400


@contextlib.contextmanager
def one_thread_if(small: bool) -> Iterator[None]:
    """One thread for NumPy, SciPy and torch while the block runs, if what it computes again and
    again is `small`: see `SMALL_PRODUCT`, `SMALL_STEP` and `SMALL_SYSTEM`. Afterwards the caller's
    setting.

    The pools of NumPy and SciPy belong to the process, so its other threads have one thread, too;
    and blocks that overlap in several threads of a program may leave it with one.
    Entering and leaving takes some fifty microseconds: a block is a whole solver, not a step of it.
    """
    if not small:
        yield
        return
    with _pools().limit(limits=1, user_api="blas"), _one_torch_thread():
        yield


@contextlib.contextmanager
def _one_torch_thread() -> Iterator[None]:
    # what is not imported before the block makes no products in it
    torch = sys.modules.get("torch")
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
    """The pools of the libraries of NumPy and SciPy. To look for them takes a millisecond, as long
    as some solvers.
    """
    return ThreadpoolController()

"""Small tensors: threads that wait for each other cost more than they bring, most of all beside
another worker.
"""

import os

import pytest
import torch
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """One thread for torch in every test of a module or package whose conftest imports this."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True, scope="module")
def asked_threads():
    """The same for torch and BLAS; more if OMP_NUM_THREADS asks for it, as in `make portable`."""
    before, asked = torch.get_num_threads(), int(os.environ.get("OMP_NUM_THREADS", "1"))
    torch.set_num_threads(asked)
    with threadpool_limits(asked, user_api="blas"):
        yield
    torch.set_num_threads(before)

"""Small tensors: threads that wait for each other cost more than they bring, most of all beside
another worker.
"""

import pytest
import torch


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """One thread for torch in every test of a module or package whose conftest imports this."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)

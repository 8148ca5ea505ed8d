import pytest
import torch

from ntpcompanion.flatness.hessian import FlatModule
from ntpcompanion.flatness.vmapped import norms_by_vmap
from tests.flatness.cases import initialized
from tests.flatness.test_layers import Mean, plain, weigh


def test_norms_are_those_of_gradients_one_by_one():
    flat = FlatModule(initialized(Mean).double())
    inputs = torch.randint(8, (6, 4), generator=torch.Generator().manual_seed(1))
    found = norms_by_vmap(flat, flat.theta, inputs, weigh)
    torch.testing.assert_close(found, plain(flat, inputs))


def test_a_row_is_needed_for_each_input():
    theta = torch.zeros(3, dtype=torch.float64)
    words = r"`logits` must return a row for each of the 4 inputs, got 1\."
    with pytest.raises(ValueError, match=words):
        norms_by_vmap(lambda t, x: t[None], theta, torch.zeros(4, 2), weigh)

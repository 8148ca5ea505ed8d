import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntpcompanion.mlm.evaluate import draw_test_set
from ntpcompanion.mlm.one_mask import OneMask
from ntpcompanion.mlm.squared_gradients import squares_by_group
from tests.mlm.cases import SMALL, TRANSFORMER
from tests.networks.cases import double


@pytest.fixture(scope="module")
def case():
    return double(TRANSFORMER), draw_test_set(SMALL.build(), 5, 4, 0)


def squares(model, tokens):
    """‖∇ log f(v | x)‖² for all sentences and words, as a function that can be differentiated."""
    parameters, rows = list(model.parameters()), []
    with sdpa_kernel(SDPBackend.MATH):
        log_model = OneMask(model)(tokens).log_softmax(1)
    for entry in log_model.flatten():
        gradients = torch.autograd.grad(entry, parameters, create_graph=True)
        rows.append(torch.cat([g.flatten() for g in gradients]).square().sum())
    return torch.stack(rows).view_as(log_model)


def test_groups_share_out_the_squares_at_the_likeliest_word(case):
    model, test = case
    groups = squares_by_group(model, test.tokens)
    likeliest = OneMask(model)(test.tokens).argmax(1, keepdim=True)
    expected = float(squares(model, test.tokens).gather(1, likeliest).mean().detach())
    assert sum(groups.values()) == pytest.approx(expected, rel=1e-12)
    assert min(groups.values()) > 0

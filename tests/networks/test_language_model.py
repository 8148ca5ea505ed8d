import pytest
import torch

from ntpcompanion.networks.build_network import build_model
from tests.mlm.cases import LSTM, TRANSFORMER
from tests.networks.cases import AT, EVERYWHERE, TOKENS, double


@pytest.mark.parametrize("plan", [TRANSFORMER, LSTM])
def test_asking_for_some_positions_changes_no_number_and_no_gradient(plan):
    model = double(plan)
    everywhere = model(TOKENS, EVERYWHERE)
    assert torch.allclose(
        model(TOKENS, AT), everywhere.gather(1, AT[..., None].expand(-1, -1, 6)), rtol=0, atol=1e-13
    )
    few = torch.autograd.grad(model(TOKENS, AT).square().sum(), list(model.parameters()))
    all_of = model(TOKENS, EVERYWHERE).gather(1, AT[..., None].expand(-1, -1, 6)).square().sum()
    for one, other in zip(few, torch.autograd.grad(all_of, list(model.parameters())), strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-10)


def test_sentences_of_another_length_are_refused():
    model = build_model(TRANSFORMER, 0)
    with pytest.raises(
        ValueError,
        match=r"must have 4 columns, the `positions` of the model, got 3. Pad with −1 on the right",
    ):
        model(TOKENS[:, :3], AT)
    with pytest.raises(ValueError, match=r"got 5. Pad .* or build a model with more `positions`"):
        model.features(torch.zeros(3, 5, dtype=torch.int64))

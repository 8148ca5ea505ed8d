import torch
from torch import nn

from tests.mlm.cases import LSTM
from tests.networks.cases import EVERYWHERE, TOKENS, double, logits, rows


def run_lstm(cell, inputs):
    state, outputs = None, []
    for t in range(inputs.shape[1]):
        state = cell(inputs[:, t], state)
        outputs.append(state[0])
    return torch.stack(outputs, 1)


def test_the_lstm_equals_cells_that_are_stepped_by_hand():
    model = double(LSTM)
    hidden = rows(model, TOKENS)
    for norm, layer in zip(model.norms, model.layers, strict=True):
        ways = []
        for way, turn in (("", lambda x: x), ("_reverse", lambda x: x.flip(1))):
            cell = nn.LSTMCell(8, 4).double()
            cell.load_state_dict(
                {
                    name: getattr(layer, f"{name}_l0{way}")
                    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                }
            )
            ways.append(turn(run_lstm(cell, turn(norm(hidden)))))
        hidden = hidden + torch.cat(ways, -1)
    assert torch.allclose(model(TOKENS, EVERYWHERE), logits(model, hidden), rtol=0, atol=1e-12)
    assert torch.allclose(model.features(TOKENS), model.last_norm(hidden), rtol=0, atol=1e-12)

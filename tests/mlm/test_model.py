from dataclasses import replace

import pytest
import torch
from torch import nn

from ntpcompanion.languages.language import PADDING
from ntpcompanion.mlm.model import MASK, build_model, padded_to, parameters_of
from tests.mlm.cases import LSTM, TRANSFORMER, generator, same

TOKENS = torch.tensor([[0, MASK, 5, 1], [3, 3, MASK, PADDING], [MASK, 2, MASK, 4]])
AT = torch.tensor([[1], [2], [0]])


def double(plan, seed=0):
    """A model in float64 with larger parameters than a new one has, gains and biases too."""
    model = build_model(plan, seed).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(
                0.3 * torch.randn(parameter.shape, generator=generator(seed), dtype=torch.float64)
            )
    return model


def rows(model, tokens):
    """What is looked up for each token: masks, padding, words, in this order."""
    return model.words(tokens + 2)


def logits(model, hidden):
    words = model.words.weight[2 : 2 + model.plan.words]
    return model.last_norm(hidden) @ words.T + model.bias


def peer_transformer(model):
    """The same network out of PyTorch's own layers, at all positions."""
    plan = model.plan
    layers = []
    for block in model.blocks:
        layer = nn.TransformerEncoderLayer(
            plan.width, plan.heads, plan.inner, 0.0, "gelu", batch_first=True, norm_first=True
        ).double()
        layer.self_attn.in_proj_weight.data = torch.cat(
            [block.query.weight, block.key_value.weight]
        )
        layer.self_attn.in_proj_bias.data = torch.cat([block.query.bias, block.key_value.bias])
        for ours, theirs in (
            (block.out, layer.self_attn.out_proj),
            (block.up, layer.linear1),
            (block.down, layer.linear2),
            (block.attention_norm, layer.norm1),
            (block.mlp_norm, layer.norm2),
        ):
            theirs.load_state_dict(ours.state_dict())
        layers.append(layer)
    return layers


@pytest.mark.parametrize(("heads", "layers"), [(1, 1), (2, 2), (4, 3)])
def test_the_transformer_equals_the_one_of_pytorch(heads, layers):
    model = double(replace(TRANSFORMER, heads=heads, layers=layers))
    cls = model.words.weight[-1].expand(len(TOKENS), 1, -1)
    hidden = model.first_norm(torch.cat([cls, rows(model, TOKENS)], 1) + model.places.weight)
    for layer in peer_transformer(model):
        hidden = layer(hidden)
    everywhere = torch.arange(4).expand(3, 4)
    assert torch.allclose(
        model(TOKENS, everywhere), logits(model, hidden[:, 1:]), rtol=0, atol=1e-12
    )
    assert torch.allclose(model.features(TOKENS), model.last_norm(hidden), rtol=0, atol=1e-12)


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
    assert torch.allclose(
        model(TOKENS, torch.arange(4).expand(3, 4)), logits(model, hidden), rtol=0, atol=1e-12
    )
    assert torch.allclose(model.features(TOKENS), model.last_norm(hidden), rtol=0, atol=1e-12)


@pytest.mark.parametrize("plan", [TRANSFORMER, LSTM])
def test_asking_for_some_positions_changes_no_number_and_no_gradient(plan):
    model = double(plan)
    everywhere = model(TOKENS, torch.arange(4).expand(3, 4))
    assert torch.allclose(
        model(TOKENS, AT), everywhere.gather(1, AT[..., None].expand(-1, -1, 6)), rtol=0, atol=1e-13
    )
    few = torch.autograd.grad(model(TOKENS, AT).square().sum(), list(model.parameters()))
    all_of = (
        model(TOKENS, torch.arange(4).expand(3, 4))
        .gather(1, AT[..., None].expand(-1, -1, 6))
        .square()
        .sum()
    )
    for one, other in zip(few, torch.autograd.grad(all_of, list(model.parameters())), strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("plan", [TRANSFORMER, LSTM])
def test_the_seed_alone_decides_the_first_parameters(plan):
    torch.manual_seed(1)
    first = build_model(plan, 3).state_dict()
    torch.manual_seed(2)
    assert same(first, build_model(plan, 3).state_dict())
    assert not same(first, build_model(plan, 4).state_dict())


def test_the_first_parameters_have_the_stated_laws():
    model = build_model(replace(TRANSFORMER, width=64, inner=256), 0)
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            assert float(parameter.detach().std()) == pytest.approx(
                0.02, abs=5 * 0.02 / (2 * parameter.numel()) ** 0.5
            ), name
        else:
            assert torch.all(parameter == float("norm.weight" in name)), name
    recurrent = build_model(replace(LSTM, width=64), 0).layers[0].weight_hh_l0.detach()
    assert float(recurrent.abs().max()) == pytest.approx(32**-0.5, rel=0.01)
    assert float(recurrent.abs().max()) <= 32**-0.5


def test_parameters_are_counted_once():
    d, inner, layers = 8, 16, 2
    block = 4 * (d * d + d) + 2 * 2 * d + (inner * d + inner) + (d * inner + d)
    assert (
        parameters_of(build_model(TRANSFORMER, 0))
        == layers * block + (6 + 3) * d + 5 * d + 2 * 2 * d + 6
    )


@pytest.mark.parametrize("plan", [TRANSFORMER, LSTM])
def test_a_model_without_numbers_tells_its_shapes(plan):
    model = build_model(plan, 0, "meta")
    assert model(TOKENS.to("meta"), AT.to("meta")).shape == (3, 1, 6)
    assert model.features(TOKENS.to("meta")).shape == (3, 4 + (plan.kind == "transformer"), 8)


def test_sentences_of_another_length_are_refused():
    model = build_model(TRANSFORMER, 0)
    with pytest.raises(
        ValueError,
        match=r"must have 4 columns, the `positions` of the model, got 3. Pad with −1 on the right",
    ):
        model(TOKENS[:, :3], AT)
    with pytest.raises(ValueError, match=r"got 5. Build a model with more `positions`"):
        model.features(padded_to(TOKENS, 5))


def test_padding_to_more_and_to_fewer_columns():
    short = torch.tensor([[1, 2, PADDING], [3, PADDING, PADDING]])
    assert padded_to(short, 4).tolist() == [[1, 2, -1, -1], [3, -1, -1, -1]]
    assert padded_to(short, 2).tolist() == [[1, 2], [3, -1]]
    with pytest.raises(ValueError, match="holds sentences of 3 words, the model has 1 `positions`"):
        padded_to(short, 1)

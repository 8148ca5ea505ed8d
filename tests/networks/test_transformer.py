from dataclasses import replace

import pytest
import torch
from torch import nn

from tests.mlm.cases import TRANSFORMER
from tests.networks.cases import AT, EVERYWHERE, TOKENS, double, logits, rows


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


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "layers"), [(1, 1), (2, 2), (4, 3)])
def test_the_transformer_equals_the_one_of_pytorch(heads, layers, causal):
    model = double(replace(TRANSFORMER, heads=heads, layers=layers), causal=causal)
    cls = model.words.weight[-1].expand(len(TOKENS), 1, -1)
    hidden = model.first_norm(torch.cat([cls, rows(model, TOKENS)], 1) + model.places.weight)
    mask = torch.ones(5, 5, dtype=torch.bool).triu(1) if causal else None  # true is hidden
    for layer in peer_transformer(model):
        hidden = layer(hidden, src_mask=mask)
    assert torch.allclose(
        model(TOKENS, EVERYWHERE), logits(model, hidden[:, 1:]), rtol=0, atol=1e-12
    )
    assert torch.allclose(model.features(TOKENS), model.last_norm(hidden), rtol=0, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_logits_see_later_words_unless_the_attention_is_causal(causal):
    model = double(TRANSFORMER, causal=causal)
    before = model(TOKENS, EVERYWHERE)
    for t in range(3):
        changed = TOKENS.clone()
        changed[:, t + 1 :] = (TOKENS[:, t + 1 :] + 3) % 6  # another word at every later position
        after = model(changed, EVERYWHERE)
        assert not torch.equal(after[:, t + 1 :], before[:, t + 1 :])
        assert torch.equal(after[:, : t + 1], before[:, : t + 1]) == causal


def test_a_causal_transformer_at_asked_positions_is_that_at_all():
    model = double(TRANSFORMER, causal=True)
    expected = model(TOKENS, EVERYWHERE).gather(1, AT[..., None].expand(-1, -1, 6))
    assert torch.allclose(model(TOKENS, AT), expected, rtol=0, atol=1e-13)

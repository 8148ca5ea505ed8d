import math

import pytest
import torch
import torch.nn.functional as F

from ntpcompanion.capacity import (
    DecoderStack,
    count_parameters,
    sinusoidal_positions,
    tabulate_beginnings,
)


def beginnings():
    generator = torch.Generator().manual_seed(0)
    return tabulate_beginnings(torch.randint(5, (6, 4), generator=generator).numpy())


def stack(widths=(2, 5), seed=0):
    V = beginnings().vocab_size
    return DecoderStack(V, 4, widths, torch.Generator().manual_seed(seed))


def one_context(decoder, i, tokens):
    """The logits of decoder i after one context, token by token."""
    d = 4
    x = decoder.embeddings[i][tokens] + sinusoidal_positions(len(tokens), d)
    query, key, value = (x @ decoder.maps[j, i] + decoder.shifts[j, i] for j in range(3))
    weights = torch.softmax(key @ query[-1] / math.sqrt(d), dim=0)
    z = weights @ value @ decoder.maps[3, i] + decoder.shifts[3, i, 0]
    m = decoder.widths[i]
    hidden = F.gelu(z @ decoder.up[i, :, :m] + decoder.thresholds[i, 0, :m])
    return hidden @ decoder.down[i, :m] + decoder.biases[i, 0]


def test_logits_are_those_of_each_context_alone():
    table, decoder = beginnings(), stack()
    logits = decoder(table)
    for i in range(2):
        for row, (document, length) in enumerate(zip(table.document, table.length, strict=True)):
            tokens = torch.as_tensor(table.tokens[document, :length])
            torch.testing.assert_close(logits[i, row], one_context(decoder, i, tokens))


def test_padding_is_never_trained():
    decoder = stack()
    decoder(beginnings()).square().sum().backward()
    assert decoder.down.grad[0, 2:].abs().max() == 0
    assert decoder.up.grad[0, :, 2:].abs().max() == 0
    assert decoder.down.grad[1].abs().min() > 0


def test_parameters_are_counted():
    V, d, m = beginnings().vocab_size, 4, 5
    assert count_parameters(V, d, m) == sum(p.numel() for p in stack((m,)).parameters())
    assert [count_parameters(182, 16, 32), count_parameters(290, 16, 16)] == [10550, 10930]


def test_positions_are_sines_and_cosines():
    found = sinusoidal_positions(3, 4)
    for t in range(3):
        for i in range(2):
            angle = t / 10000 ** (2 * i / 4)
            assert found[t, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-15)
            assert found[t, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-15)


@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named():
    generator = torch.Generator()
    with pytest.raises(ValueError, match=r"`dim` must be even.*got 3"):
        DecoderStack(3, 3, [2], generator)

import numpy as np
import pytest
import torch

from ntpcompanion.capacity import DecoderStack, fit_decoders, fit_last_layer, tabulate_beginnings
from ntpcompanion.capacity.fitting import losses, schedule

TABLE = tabulate_beginnings(np.array([[0, 1, 2, 0], [0, 2, 1, 1], [0, 1, 2, 3]]))


def stack(widths=(1, 8), seed=0):
    return DecoderStack(TABLE.vocab_size, 4, widths, torch.Generator().manual_seed(seed))


def test_losses_are_those_of_the_definition():
    logits = torch.randn(2, *TABLE.joint.shape, generator=torch.Generator().manual_seed(0)).double()
    wanted = -(torch.as_tensor(TABLE.joint) * logits.log_softmax(dim=2)).sum(dim=(1, 2))
    torch.testing.assert_close(losses(logits, torch.as_tensor(TABLE.joint)), wanted)


def test_no_decoder_is_below_the_minimum_of_its_last_layer():
    decoders = stack((3,))
    excess = fit_decoders(decoders, TABLE, steps=40, learning_rate=0.02)
    hidden = decoders.hidden(TABLE)[0].detach().numpy()
    features = np.hstack([hidden, np.ones((len(hidden), 1))])  # the biases
    pi = TABLE.joint.sum(axis=1)
    fit = fit_last_layer(features, TABLE.joint / pi[:, None], pi)
    assert excess[0] + TABLE.entropy >= fit.bound - 1e-9


def test_decoders_do_not_influence_each_other():
    both = stack()
    alone = stack((8,))
    with torch.no_grad():
        for name, parameter in alone.named_parameters():
            parameter.copy_(dict(both.named_parameters())[name].select(
                1 if name in ("maps", "shifts") else 0, 1
            ).unsqueeze(1 if name in ("maps", "shifts") else 0))  # fmt: skip
    together = fit_decoders(both, TABLE, steps=20, learning_rate=0.02)
    assert fit_decoders(alone, TABLE, steps=20, learning_rate=0.02)[0] == pytest.approx(
        together[1], rel=1e-6
    )


def test_the_rate_rises_and_falls_to_zero():
    assert schedule(0) == 0
    assert schedule(1) == pytest.approx(0, abs=1e-15)
    assert max(schedule(t) for t in np.linspace(0, 1, 101)) > 0.99

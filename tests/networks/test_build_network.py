from dataclasses import replace

import pytest
import torch

from ntpcompanion.networks.build_network import build_model, parameters_of
from tests.mlm.cases import LSTM, TRANSFORMER, same
from tests.networks.cases import AT, TOKENS


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


def test_a_causal_network_has_the_parameters_of_a_two_sided_one():
    causal = build_model(TRANSFORMER, 3, causal=True)
    assert same(causal.state_dict(), build_model(TRANSFORMER, 3).state_dict())
    with pytest.raises(ValueError, match=r"`causal` must be false for an LSTM.*got True"):
        build_model(LSTM, 0, causal=True)

from dataclasses import replace

import pytest
import torch
from torch.func import functional_call

from ntpcompanion.mlm.curvature.rescaling import rescale
from ntpcompanion.mlm.curvature.symmetries import identity, normal_form, transform
from tests.mlm.cases import TRANSFORMER
from tests.mlm.planted import HEADS, planted
from tests.mlm.rescaled import PARAMETERS, logits, network, scales_of
from tests.networks.cases import TOKENS


def features(parameters):
    of = network()
    of.forward = of.features
    return functional_call(of, parameters, (TOKENS,))


@pytest.mark.parametrize("seed", range(3))
def test_a_symmetry_leaves_the_logits(seed):
    moved = transform(PARAMETERS, planted(PARAMETERS, seed))
    torch.testing.assert_close(logits(moved, 0.0), logits(PARAMETERS, 0.0), rtol=0, atol=1e-12)
    for name in PARAMETERS.keys() - {"places.weight"}:
        assert not torch.allclose(moved[name], PARAMETERS[name])


def test_without_the_three_scales_a_symmetry_is_exact_for_layer_norms_as_they_are():
    zero = torch.zeros((), dtype=torch.float64)
    symmetry = replace(planted(PARAMETERS, 0), stream=zero, embedding=zero, start=zero)
    moved = transform(PARAMETERS, symmetry)
    torch.testing.assert_close(logits(moved), logits(PARAMETERS), rtol=0, atol=1e-12)


def test_a_shift_of_the_last_layer_norm_moves_every_feature_alike():
    shift = torch.arange(8.0, dtype=torch.float64)
    moved = transform(PARAMETERS, replace(identity(PARAMETERS, HEADS), last_shift=shift))
    torch.testing.assert_close(features(moved), features(PARAMETERS) + shift)


def test_equal_gains_and_multiples_of_the_identity_are_rescalings():
    trivial, factor = identity(PARAMETERS, HEADS), 1.7
    symmetry = replace(trivial, gains=factor * trivial.gains, query_map=factor * trivial.query_map)
    log = torch.log(torch.tensor(factor)).item()
    expected = rescale(PARAMETERS, scales_of(attention_norm=log, mlp_norm=log, query=log))
    for name, value in transform(PARAMETERS, symmetry).items():
        torch.testing.assert_close(value, expected[name])


def test_networks_of_a_stack_have_their_own_symmetries():
    both = {name: torch.stack([p, 2 * p]) for name, p in PARAMETERS.items()}
    found = transform(both, planted(both, 0))
    alone = planted(both, 0)
    for row in range(2):
        one = type(alone)(**{name: value[row] for name, value in vars(alone).items()})
        moved = transform({name: p[row] for name, p in both.items()}, one)
        for name, value in moved.items():
            torch.testing.assert_close(found[name][row], value)


def test_the_normal_form_is_the_same_function_and_undoes_gains_and_shifts_of_layers():
    normal = normal_form(PARAMETERS, HEADS)
    torch.testing.assert_close(logits(normal, 0.0), logits(PARAMETERS, 0.0), rtol=0, atol=1e-12)
    assert normal["first_norm.weight"].square().mean().item() == pytest.approx(1)
    trivial, random = identity(PARAMETERS, HEADS), planted(PARAMETERS, 1)
    some = {name: getattr(random, name) for name in ("stream", "start", "gains", "shifts")}
    again = normal_form(transform(PARAMETERS, replace(trivial, **some)), HEADS)
    for name, value in normal.items():
        torch.testing.assert_close(again[name], value)


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"`heads` must divide the width 8, got 3"):
        identity(PARAMETERS, 3)
    with pytest.raises(ValueError, match=r"`parameters` must have the names of a `Transformer`"):
        transform({"weight": torch.ones(2)}, identity(PARAMETERS, TRANSFORMER.heads))
    dead = PARAMETERS["blocks.1.mlp_norm.weight"].clone()
    dead[3] = 0
    with pytest.raises(ValueError, match="a gain of 0"):
        normal_form(PARAMETERS | {"blocks.1.mlp_norm.weight": dead}, HEADS)

import pytest
import torch
from torch.func import functional_call

from ntpcompanion.mlm.curvature.balanced_trace import balanced_trace, unit_gain
from ntpcompanion.mlm.curvature.shifts import shift_last_norm
from tests.mlm.cases import TRANSFORMER, generator
from tests.mlm.rescaled import PARAMETERS, logits, network, total, traces
from tests.networks.cases import TOKENS

SHIFT = 3 * torch.randn(TRANSFORMER.width, generator=generator(), dtype=torch.float64)


def features(parameters):
    of = network()
    of.forward = of.features
    return functional_call(of, parameters, (TOKENS,))


def balanced(parameters):
    return float(balanced_trace(traces(parameters), unit_gain(parameters)).value)


def test_a_shift_leaves_the_logits_and_moves_every_vector_alike():
    moved = shift_last_norm(PARAMETERS, SHIFT)
    torch.testing.assert_close(logits(moved), logits(PARAMETERS), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(features(moved), features(PARAMETERS) + SHIFT)
    back = shift_last_norm(moved, -SHIFT)
    for name, p in PARAMETERS.items():
        torch.testing.assert_close(back[name], p)


def test_neither_trace_is_a_property_of_the_function():
    """The balanced trace, too, can be made as large as one likes without a change of the logits."""
    sizes = [shift_last_norm(PARAMETERS, scale * SHIFT) for scale in (0, 1, 2, 4)]
    plain, least = [total(traces(p)) for p in sizes], [balanced(p) for p in sizes]
    assert plain == sorted(plain)
    assert least == sorted(least)
    assert plain[-1] > 3 * plain[0]
    assert least[-1] > 1.5 * least[0]


def test_each_model_of_a_stack_has_its_own_shift():
    stack = {name: torch.stack([p, 2 * p]) for name, p in PARAMETERS.items()}
    found = shift_last_norm(stack, torch.stack([SHIFT, -SHIFT]))
    for name, p in shift_last_norm(PARAMETERS, SHIFT).items():
        torch.testing.assert_close(found[name][0], p)
    twice = {name: 2 * p for name, p in PARAMETERS.items()}
    for name, p in shift_last_norm(twice, -SHIFT).items():
        torch.testing.assert_close(found[name][1], p)


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"`parameters` must have the names of .*missing or"):
        shift_last_norm({"weight": torch.ones(2)}, torch.zeros(2))
    with pytest.raises(ValueError, match=r"`shift` must have the shape .* of `last_norm.bias`"):
        shift_last_norm(PARAMETERS, torch.zeros(3, dtype=torch.float64))

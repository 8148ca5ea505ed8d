import pytest
import torch

from ntpcompanion.mlm.curvature.rescaling import rescale, weights_at
from tests.mlm.cases import generator
from tests.mlm.rescaled import NAMES, PARAMETERS, logits, traces


@pytest.mark.parametrize("name", NAMES)
def test_without_epsilon_a_rescaling_leaves_the_logits_as_they_are(name):
    scales = torch.tensor([1.5 * (name == other) for other in NAMES], dtype=torch.float64)
    rescaled = rescale(PARAMETERS, scales)
    moved = [p for p in PARAMETERS if not torch.equal(rescaled[p], PARAMETERS[p])]
    assert moved, "a scale that nothing follows"
    torch.testing.assert_close(
        logits(rescaled, 0.0), logits(PARAMETERS, 0.0), rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-4)])
def test_with_epsilon_the_logits_hardly_change(dtype, tolerance):
    own = {name: p.to(dtype) for name, p in PARAMETERS.items()}
    scales = torch.rand(len(NAMES), generator=generator(), dtype=dtype) - 0.5
    torch.testing.assert_close(
        logits(rescale(own, scales)), logits(own), rtol=tolerance, atol=tolerance
    )


def test_each_model_of_a_stack_has_its_own_scales():
    stack = {name: torch.stack([p, 2 * p]) for name, p in PARAMETERS.items()}
    scales = torch.randn(2, len(NAMES), generator=generator(), dtype=torch.float64)
    found = rescale(stack, scales)
    for row, own in enumerate((PARAMETERS, {name: 2 * p for name, p in PARAMETERS.items()})):
        for name, p in rescale(own, scales[row]).items():
            torch.testing.assert_close(found[name][row], p)


def test_squared_gradients_follow_the_exponents():
    scales = torch.randn(len(NAMES), generator=generator(), dtype=torch.float64) / 2
    before, weights = traces(PARAMETERS, 0.0), weights_at(scales)
    for name, after in traces(rescale(PARAMETERS, scales), 0.0).items():
        torch.testing.assert_close(after, weights[name] * before[name], rtol=1e-8, atol=1e-20)


def test_what_is_refused():
    with pytest.raises(
        ValueError, match=r"`parameters` must have the names of .*missing or unknown\. Pass"
    ):
        rescale({"weight": torch.ones(2)}, torch.zeros(2))
    with pytest.raises(
        ValueError, match="must have 10 entries for a transformer of 2 layers, got shape"
    ):
        rescale(PARAMETERS, torch.zeros(3, dtype=torch.float64))

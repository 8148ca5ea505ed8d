import numpy as np
import pytest
import scipy.optimize
import torch
from torch import nn
from torch.func import functional_call

from ntpcompanion.mlm.example_gradients import squared_gradients
from ntpcompanion.mlm.rescaling import (
    balanced_trace,
    exponents,
    rescale,
    scale_names,
    weights_at,
)
from ntpcompanion.networks.build import build_model
from tests.mlm.cases import TRANSFORMER, generator
from tests.networks.cases import AT, TOKENS, double

LABELS = torch.tensor([3, 0, 5])
NAMES = scale_names(TRANSFORMER.layers)


def network(epsilon=1e-5):
    shape = build_model(TRANSFORMER, 0, "meta")
    for layer in shape.modules():
        if isinstance(layer, nn.LayerNorm):
            layer.eps = epsilon
    return shape


def parameters_of(model):
    return {name: p.detach() for name, p in model.named_parameters()}


def logits(parameters, epsilon=1e-5):
    return functional_call(network(epsilon), parameters, (TOKENS, AT))


def traces(parameters, epsilon=1e-5):
    """The trace with given labels: any fixed examples do."""
    squares = squared_gradients(network(epsilon), parameters, TOKENS, AT, LABELS)
    return {name: s.mean() for name, s in squares.items()}


def total(of_groups):
    return float(sum(of_groups.values()))


def scales_of(**values):
    """Scales by the last part of their names, in all layers."""
    return torch.tensor(
        [values.get(name.split(".")[-1].split(" ")[0], 0.0) for name in NAMES], dtype=torch.float64
    )


@pytest.fixture(scope="module")
def parameters():
    return parameters_of(double(TRANSFORMER))


@pytest.mark.parametrize("name", NAMES)
def test_without_epsilon_a_rescaling_leaves_the_logits_as_they_are(parameters, name):
    scales = torch.tensor([1.5 * (name == other) for other in NAMES], dtype=torch.float64)
    rescaled = rescale(parameters, scales)
    moved = [p for p in parameters if not torch.equal(rescaled[p], parameters[p])]
    assert moved, "a scale that nothing follows"
    torch.testing.assert_close(
        logits(rescaled, 0.0), logits(parameters, 0.0), rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-4)])
def test_with_epsilon_the_logits_hardly_change(parameters, dtype, tolerance):
    own = {name: p.to(dtype) for name, p in parameters.items()}
    scales = torch.rand(len(NAMES), generator=generator(), dtype=dtype) - 0.5
    torch.testing.assert_close(
        logits(rescale(own, scales)), logits(own), rtol=tolerance, atol=tolerance
    )


def test_each_model_of_a_stack_has_its_own_scales(parameters):
    stack = {name: torch.stack([p, 2 * p]) for name, p in parameters.items()}
    scales = torch.randn(2, len(NAMES), generator=generator(), dtype=torch.float64)
    found = rescale(stack, scales)
    for row, own in enumerate((parameters, {name: 2 * p for name, p in parameters.items()})):
        for name, p in rescale(own, scales[row]).items():
            torch.testing.assert_close(found[name][row], p)


def test_squared_gradients_follow_the_exponents(parameters):
    scales = torch.randn(len(NAMES), generator=generator(), dtype=torch.float64) / 2
    before, weights = traces(parameters, 0.0), weights_at(scales)
    for name, after in traces(rescale(parameters, scales), 0.0).items():
        torch.testing.assert_close(after, weights[name] * before[name], rtol=1e-8, atol=1e-20)


def test_the_balanced_trace_is_that_of_numerical_minimisation(parameters):
    measured = traces(parameters)
    values = np.array([float(measured[name]) for name in exponents(2)])
    directions = np.array(
        [[-2.0 * row.get(name, 0) for name in NAMES] for row in exponents(2).values()]
    )
    oracle = scipy.optimize.minimize(
        lambda s: values @ np.exp(directions @ s),
        np.zeros(len(NAMES)),
        jac=lambda s: (values * np.exp(directions @ s)) @ directions,
        options={"gtol": 1e-8 * values.sum()},
    )
    found = balanced_trace(measured)
    assert float(found.value) == pytest.approx(oracle.fun, rel=1e-9)
    assert found.scales.numpy() == pytest.approx(oracle.x, abs=1e-5)
    assert float(found.gradient) <= 1e-9
    assert float(found.value) < 0.9 * values.sum()


@pytest.mark.parametrize(("epsilon", "tolerance"), [(0.0, 1e-8), (1e-5, 1e-3)])
def test_a_model_rescaled_to_the_minimum_has_the_predicted_trace(parameters, epsilon, tolerance):
    found = balanced_trace(traces(parameters, epsilon))
    rescaled = traces(rescale(parameters, found.scales), epsilon)
    assert total(rescaled) == pytest.approx(float(found.value), rel=tolerance)


EXAMPLES = {
    "attention": {"query": np.log(1 / 3), "value": np.log(4)},
    "ends": {"last_norm": np.log(2)},
    "stream": {"residual": 1.0, "mlp_norm": -1.0, "attention_norm": 0.5},
}


@pytest.mark.parametrize("values", EXAMPLES.values(), ids=EXAMPLES)
def test_a_rescaling_moves_the_plain_trace_and_not_the_balanced_one(parameters, values):
    moved = rescale(parameters, scales_of(**values))
    plain, other = traces(parameters), traces(moved)
    assert abs(np.log(total(other) / total(plain))) > 0.05
    first, second = (balanced_trace(t).value for t in (plain, other))
    assert float(second) == pytest.approx(float(first), rel=2e-3)
    first, second = (balanced_trace(traces(p, 0.0)).value for p in (parameters, moved))
    assert float(second) == pytest.approx(float(first), rel=1e-9)


def test_a_stack_is_balanced_model_by_model_however_far_each_is_from_balance(parameters):
    far = traces(rescale(parameters, scales_of(value=6.0, query=-4.0, residual=5.0)), 0.0)
    near = traces(parameters, 0.0)
    both = balanced_trace({name: torch.stack([near[name], far[name]]) for name in near})
    assert both.value.shape == (2,)
    assert both.scales.shape == (2, len(NAMES))
    assert both.value.tolist() == pytest.approx([float(balanced_trace(near).value)] * 2, rel=1e-9)


def test_a_trace_that_falls_for_ever_has_no_balanced_one(parameters):
    """With output weights of zero nothing comes back to the values, and shrinking them costs
    nothing.
    """
    measured = traces(parameters | {"blocks.0.out.weight": torch.zeros(8, 8, dtype=torch.float64)})
    with pytest.raises(ValueError, match="no minimum over rescalings"):
        balanced_trace(measured)


def test_what_is_refused(parameters):
    measured = traces(parameters)
    with pytest.raises(ValueError, match=r"missing or unknown\. Pass all parameters"):
        rescale({"weight": torch.ones(2)}, torch.zeros(2))
    with pytest.raises(ValueError, match=r"'bias'.* missing or unknown"):
        balanced_trace({name: t for name, t in measured.items() if name != "bias"})
    with pytest.raises(ValueError, match="must have 10 entries for a transformer of 2 layers, got"):
        rescale(parameters, torch.zeros(3, dtype=torch.float64))
    with pytest.raises(ValueError, match="finite and not negative"):
        balanced_trace(measured | {"bias": torch.tensor(float("nan"))})

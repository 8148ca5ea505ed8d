import numpy as np
import pytest
import scipy.optimize
import torch

from ntpcompanion.mlm.curvature.balanced_trace import balanced_trace, trace_infimum, unit_gain
from ntpcompanion.mlm.curvature.rescaling import exponents, rescale
from tests.mlm.rescaled import NAMES, PARAMETERS, scales_of, total, traces


def terms(of_groups):
    """The trace as a function of the scales, with gradient and Hessian."""
    values = np.array([float(of_groups[name]) for name in exponents(2)])
    table = [[-2.0 * row.get(name, 0) for name in NAMES] for row in exponents(2).values()]
    directions = np.array(table)

    def function(scales):
        parts = values * np.exp(directions @ scales)
        return parts.sum(), parts @ directions, (directions.T * parts) @ directions

    return function


def balanced(parameters, epsilon=1e-5):
    return balanced_trace(traces(parameters, epsilon), unit_gain(parameters))


def test_the_balanced_trace_is_that_of_numerical_minimisation():
    measured, residual = traces(PARAMETERS), 0.3
    function, free = terms(measured), np.array(NAMES) != "residual stream"

    def everywhere(scales):
        return np.insert(scales, NAMES.index("residual stream"), residual)

    oracle = scipy.optimize.minimize(
        lambda s: function(everywhere(s))[0],
        np.zeros(free.sum()),
        method="trust-exact",
        jac=lambda s: function(everywhere(s))[1][free],
        hess=lambda s: function(everywhere(s))[2][np.ix_(free, free)],
        options={"gtol": 1e-10 * total(measured)},
    )
    found = balanced_trace(measured, torch.tensor(residual, dtype=torch.float64))
    assert float(found.value) == pytest.approx(oracle.fun, rel=1e-9)
    assert found.scales.numpy()[free] == pytest.approx(oracle.x, abs=1e-5)
    assert float(found.scales[NAMES.index("residual stream")]) == pytest.approx(residual)
    assert float(found.gradient) <= 1e-9
    assert oracle.fun < 0.9 * total(measured)


def test_the_infimum_is_where_numerical_minimisation_runs_to():
    measured = traces(PARAMETERS)
    oracle = scipy.optimize.minimize(
        lambda s: terms(measured)(s)[:2], np.zeros(len(NAMES)), jac=True, options={"gtol": 1e-9}
    )
    assert float(trace_infimum(measured)) == pytest.approx(oracle.fun, rel=1e-6)
    assert float(trace_infimum(measured)) < float(balanced(PARAMETERS).value)


@pytest.mark.parametrize(("epsilon", "tolerance"), [(0.0, 1e-8), (1e-5, 1e-3)])
def test_a_model_rescaled_to_the_minimum_has_the_predicted_trace(epsilon, tolerance):
    found = balanced(PARAMETERS, epsilon)
    moved = rescale(PARAMETERS, found.scales)
    assert total(traces(moved, epsilon)) == pytest.approx(float(found.value), rel=tolerance)
    assert float(moved["first_norm.weight"].square().mean()) == pytest.approx(1.0)


EXAMPLES = {
    "attention": {"query": np.log(1 / 3), "value": np.log(4)},
    "ends": {"last_norm": np.log(2)},
    "stream": {"residual": 1.0, "mlp_norm": -0.5},
}


@pytest.mark.parametrize("values", EXAMPLES.values(), ids=EXAMPLES)
def test_a_rescaling_moves_the_plain_trace_and_not_the_balanced_one(values):
    moved = rescale(PARAMETERS, scales_of(**values))
    plain, other = traces(PARAMETERS), traces(moved)
    assert abs(np.log(total(other) / total(plain))) > 0.05
    for epsilon, tolerance in ((1e-5, 2e-3), (0.0, 1e-9)):
        first, second = (float(balanced(p, epsilon).value) for p in (PARAMETERS, moved))
        assert second == pytest.approx(first, rel=tolerance)
        first, second = (float(trace_infimum(traces(p, epsilon))) for p in (PARAMETERS, moved))
        assert second == pytest.approx(first, rel=tolerance)


def test_a_stack_is_balanced_model_by_model_however_far_each_is_from_balance():
    far = rescale(PARAMETERS, scales_of(value=6.0, query=-4.0, residual=5.0))
    stack = {name: torch.stack([p, far[name]]) for name, p in PARAMETERS.items()}
    each = [traces(p, 0.0) for p in (PARAMETERS, far)]
    both = balanced_trace(
        {name: torch.stack([t[name] for t in each]) for name in each[0]}, unit_gain(stack)
    )
    assert both.value.shape == (2,)
    assert both.scales.shape == (2, len(NAMES))
    assert both.value.tolist() == pytest.approx([float(balanced(PARAMETERS, 0.0).value)] * 2)


def test_a_trace_that_falls_for_ever_has_no_balanced_one():
    """With output weights of zero nothing comes back to the values, and shrinking them costs
    nothing.
    """
    still = PARAMETERS | {"blocks.0.out.weight": torch.zeros(8, 8, dtype=torch.float64)}
    with pytest.raises(ValueError, match="no minimum over rescalings"):
        balanced(still)


def test_what_is_refused():
    measured = traces(PARAMETERS)
    with pytest.raises(ValueError, match=r"'bias'.* missing or unknown"):
        trace_infimum({name: t for name, t in measured.items() if name != "bias"})
    with pytest.raises(ValueError, match="finite and not negative"):
        trace_infimum(measured | {"bias": torch.tensor(float("nan"))})

import pytest
import torch
from torch.func import grad

from ntpcompanion.flatness.hessian import FlatModule
from ntpcompanion.flatness.trace_estimators import fisher_trace
from ntpcompanion.mlm.curvature.balanced_trace import balanced_trace, unit_gain
from ntpcompanion.mlm.curvature.example_gradients import sampled_labels, squared_gradients
from ntpcompanion.mlm.curvature.rescaling import rescale
from ntpcompanion.mlm.curvature.squared_gradients import OneMask
from ntpcompanion.mlm.curvature.traces import measured_traces, trace_slope
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set
from tests.mlm.cases import SMALL, TRANSFORMER, generator
from tests.networks.cases import double

MODELS = [double(TRANSFORMER, seed) for seed in (0, 1)]
PARAMETERS = {
    name: torch.stack([dict(model.named_parameters())[name].detach() for model in MODELS])
    for name in dict(MODELS[0].named_parameters())
}
NETWORK = MODELS[0]


@pytest.fixture(scope="module")
def test():
    return draw_test_set(SMALL.build(), 60, 4, 0)


def numbers(inputs, labels=1):
    return torch.rand(inputs, labels, generator=generator(3), dtype=torch.float64)


def own(row):
    return {name: p[row] for name, p in PARAMETERS.items()}


def trace_of(parameters, tokens, at, labels):
    squares = squared_gradients(NETWORK, parameters, tokens, at, labels)
    return torch.stack(list(squares.values())).sum(0).mean()


def exact_trace(row, test):
    """Σ_v f_v ‖∇ log f_v‖², word by word."""
    model, total = MODELS[row], 0.0
    probabilities = model(test.tokens, test.positions)[:, 0].softmax(1).detach()
    for word in range(TRANSFORMER.words):
        labels = torch.full((len(test.positions),), word)
        squares = squared_gradients(NETWORK, own(row), test.tokens, test.positions, labels)
        total += (probabilities[:, word] * torch.stack(list(squares.values())).sum(0)).mean()
    return float(total)


def test_evenly_spaced_uniform_numbers_give_the_exact_trace(test):
    """With the midpoints of 500 intervals every word is drawn as often as it is likely, up to
    half an interval at each end.
    """
    few = type(test)(test.tokens[:4], test.positions[:4], test.conditional[:4])
    evenly = ((torch.arange(500, dtype=torch.float64) + 0.5) / 500).expand(4, -1)
    found = measured_traces(NETWORK, PARAMETERS, few.tokens, few.positions, evenly, chunk=4000)
    exact = [exact_trace(row, few) for row in (0, 1)]
    assert found.plain.tolist() == pytest.approx(exact, rel=1e-2)


def test_the_plain_trace_is_that_of_the_general_method(test):
    found = measured_traces(NETWORK, PARAMETERS, test.tokens, test.positions, numbers(60, 20))
    for row, model in enumerate(MODELS):
        flat = FlatModule(OneMask(model))
        general = fisher_trace(
            flat, flat.theta, test.tokens, labels_per_input=20, generator=generator(5)
        )
        joint = (general.stderr**2 + float(found.plain_stderr[row]) ** 2) ** 0.5
        assert abs(general.value - float(found.plain[row])) < 4 * joint
        assert float(found.plain_stderr[row]) == pytest.approx(general.stderr, rel=0.5)


def test_the_parts_of_the_traces_fit_together(test):
    uniforms = numbers(60, 2)
    found = measured_traces(NETWORK, PARAMETERS, test.tokens, test.positions, uniforms)
    torch.testing.assert_close(sum(found.by_group.values()), found.plain)
    expected = balanced_trace(found.by_group, unit_gain(PARAMETERS))
    torch.testing.assert_close(found.balanced, expected.value)
    assert (found.infimum < found.balanced).all()
    moved = rescale(PARAMETERS, found.scales)
    again = measured_traces(NETWORK, moved, test.tokens, test.positions, uniforms)
    torch.testing.assert_close(again.plain, found.balanced, rtol=1e-3, atol=0)
    torch.testing.assert_close(again.plain_stderr, found.balanced_stderr, rtol=1e-3, atol=0)


def test_chunks_change_nothing(test):
    uniforms = numbers(60, 2)
    whole = measured_traces(
        NETWORK, PARAMETERS, test.tokens, test.positions, uniforms, chunk=10_000
    )
    parts = measured_traces(NETWORK, PARAMETERS, test.tokens, test.positions, uniforms, chunk=7)
    torch.testing.assert_close(parts.plain, whole.plain)
    torch.testing.assert_close(parts.balanced_stderr, whole.balanced_stderr)
    first = trace_slope(
        NETWORK, PARAMETERS, test.tokens, test.positions, uniforms, parts=4, chunk=7
    )
    second = trace_slope(NETWORK, PARAMETERS, test.tokens, test.positions, uniforms, parts=4)
    torch.testing.assert_close(first.square, second.square)
    torch.testing.assert_close(first.trace, whole.plain)


def test_the_slope_is_the_mean_product_of_gradients_of_different_parts(test):
    uniforms, row = numbers(60), 1
    found = trace_slope(NETWORK, PARAMETERS, test.tokens, test.positions, uniforms, parts=3)
    labels = sampled_labels(MODELS[row](test.tokens, test.positions)[:, 0], uniforms[:, 0])
    gradients = []
    for part in (slice(0, 20), slice(20, 40), slice(40, 60)):
        inputs = test.tokens[part], test.positions[part], labels[part]
        slope = grad(lambda p, inputs=inputs: trace_of(p, *inputs))(own(row))
        gradients.append(torch.cat([g.flatten() for g in slope.values()]))
    a, b, c = gradients
    products = torch.stack([a @ b, a @ c, b @ c])
    assert float(found.square[row]) == pytest.approx(float(products.mean()), rel=1e-9)
    assert float(found.square_stderr[row]) == pytest.approx(
        (2 / 3 * float((products - products.mean()).square().sum())) ** 0.5, rel=1e-9
    )


def test_models_in_single_precision_are_summed_in_double(test):
    single = {name: p.float() for name, p in PARAMETERS.items()}
    inputs = test.tokens, test.positions, numbers(60)
    found, slope = (f(NETWORK, single, *inputs) for f in (measured_traces, trace_slope))
    exact = measured_traces(NETWORK, PARAMETERS, *inputs)
    torch.testing.assert_close(found.balanced, exact.balanced, rtol=1e-3, atol=0)
    torch.testing.assert_close(slope.trace, exact.plain, rtol=1e-3, atol=0)
    assert slope.square_stderr.dtype == torch.float64


def test_what_is_refused(test):
    one = test.tokens[:1], test.positions[:1], numbers(1)
    with pytest.raises(ValueError, match=r"`tokens` must hold at least 2"):
        measured_traces(NETWORK, PARAMETERS, *one)
    with pytest.raises(ValueError, match=r"`parts` must be .*at least 3"):
        trace_slope(NETWORK, PARAMETERS, test.tokens, test.positions, numbers(60), parts=2)
    with pytest.raises(ValueError, match=r"`tokens` must hold at least 8"):
        trace_slope(NETWORK, PARAMETERS, test.tokens[:5], test.positions[:5], numbers(5))
    with pytest.raises(ValueError, match=r"`chunk` must be .*at least 1"):
        measured_traces(NETWORK, PARAMETERS, test.tokens, test.positions, numbers(60), chunk=0)

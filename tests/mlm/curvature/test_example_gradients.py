from dataclasses import replace

import pytest
import torch
from torch.func import functional_call, grad, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntpcompanion.mlm.curvature.example_gradients import (
    log_trace,
    sampled_labels,
    squared_gradients,
)
from ntpcompanion.networks.build_network import build_model
from tests.mlm.cases import LSTM, TRANSFORMER, generator
from tests.networks.cases import AT, TOKENS, double

LABELS = torch.tensor([3, 0, 5])
META = build_model(TRANSFORMER, 0, "meta")


def parameters_of(model):
    return {name: p.detach() for name, p in model.named_parameters()}


def stacked(*models):
    each = [parameters_of(model) for model in models]
    return {name: torch.stack([p[name] for p in each]) for name in each[0]}


def gradients(network, parameters, tokens, at, label):
    """∇ log f(label | x) of one example, by reverse differentiation."""

    def log_model(p):
        with sdpa_kernel(SDPBackend.MATH):
            return functional_call(network, p, (tokens[None], at[None]))[0, 0].log_softmax(0)[label]

    return grad(log_model)(parameters)


def expected_squares(network, parameters, tokens, at, labels):
    """The squared gradients by definition, an example at a time."""
    rows = []
    for x, t, label in zip(tokens, at, labels, strict=True):
        row = {}
        for name, g in gradients(network, parameters, x, t, label).items():
            if "key_value" in name:
                key, value = g.chunk(2)
                row |= {name.replace("key_value", "key"): key}
                row |= {name.replace("key_value", "value"): value}
            else:
                row[name] = g
        rows.append({name: g.square().sum() for name, g in row.items()})
    return {name: torch.stack([row[name] for row in rows]) for name in rows[0]}


@pytest.mark.parametrize(
    ("tokens", "at", "causal"),
    [(TOKENS, AT, False), (TOKENS, AT, True), (torch.tensor([[5, 5, -2, 5]] * 3), AT, False)],
    ids=["two-sided", "causal", "a word four times"],
)
def test_squared_gradients_are_those_of_single_examples(tokens, at, causal):
    model, meta = (
        double(TRANSFORMER, causal=causal),
        build_model(TRANSFORMER, 0, "meta", causal=causal),
    )
    found = squared_gradients(meta, parameters_of(model), tokens, at, LABELS)
    expected = expected_squares(model, parameters_of(model), tokens, at, LABELS)
    assert found.keys() == expected.keys()
    for name, squares in expected.items():
        torch.testing.assert_close(found[name], squares, rtol=1e-9, atol=1e-20, msg=name)


def test_a_wide_layer_takes_gram_matrices_and_gives_the_same():
    """At width 8 gradients are formed, at width 32 they are not."""
    plan = replace(TRANSFORMER, width=32, inner=64)
    model = double(plan)
    found = squared_gradients(model, parameters_of(model), TOKENS, AT, LABELS)
    expected = expected_squares(model, parameters_of(model), TOKENS, AT, LABELS)
    for name, squares in expected.items():
        torch.testing.assert_close(found[name], squares, rtol=1e-9, atol=1e-20, msg=name)


def test_a_stack_of_models_gives_what_each_gives_alone():
    models = [double(TRANSFORMER, seed) for seed in (0, 1)]
    uniforms = torch.tensor([0.2, 0.5, 0.9], dtype=torch.float64)

    def penalty(p):
        return log_trace(META, p, TOKENS, AT, uniforms)

    together, slopes = vmap(penalty)(stacked(*models)), vmap(grad(penalty))(stacked(*models))
    for row, model in enumerate(models):
        alone = parameters_of(model)
        torch.testing.assert_close(together[row], penalty(alone))
        for name, slope in grad(penalty)(alone).items():
            torch.testing.assert_close(slopes[name][row], slope, msg=name)


def test_the_gradient_of_the_log_trace_is_that_of_differences():
    parameters = parameters_of(double(TRANSFORMER))
    uniforms = torch.tensor([0.2, 0.5, 0.9], dtype=torch.float64)
    slopes = grad(lambda p: log_trace(META, p, TOKENS, AT, uniforms))(parameters)
    h = 1e-5
    for number, (name, slope) in enumerate(slopes.items()):
        step = torch.randn(slope.shape, generator=generator(number), dtype=torch.float64)
        ends = [
            log_trace(
                META, parameters | {name: parameters[name] + sign * h * step}, TOKENS, AT, uniforms
            )
            for sign in (1, -1)
        ]
        difference = (ends[0] - ends[1]) / (2 * h)
        assert float(difference) == pytest.approx(float((slope * step).sum()), rel=1e-5, abs=1e-8)


def test_the_log_trace_takes_the_labels_that_the_model_draws():
    model, uniforms = double(TRANSFORMER), torch.tensor([0.2, 0.5, 0.9], dtype=torch.float64)
    labels = sampled_labels(model(TOKENS, AT)[:, 0], uniforms)
    squares = expected_squares(model, parameters_of(model), TOKENS, AT, labels)
    expected = torch.stack(list(squares.values())).sum(0).mean().log()
    found = log_trace(META, parameters_of(model), TOKENS, AT, uniforms)
    torch.testing.assert_close(found, expected)


def test_labels_invert_the_cumulative_distribution():
    logits = torch.tensor([0.5, 0.0, 0.25, 0.25], dtype=torch.float64).log()
    uniforms = torch.tensor([0.0, 0.49, 0.51, 0.74, 0.76, 0.999], dtype=torch.float64)
    assert sampled_labels(logits.expand(6, 4), uniforms).tolist() == [0, 0, 2, 2, 3, 3]


def test_another_network_is_refused():
    lstm = build_model(LSTM, 0)
    with pytest.raises(
        ValueError, match="`network` must be a Transformer, got a BidirectionalLSTM"
    ):
        squared_gradients(lstm, parameters_of(lstm), TOKENS, AT, LABELS)

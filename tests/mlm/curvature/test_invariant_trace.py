import itertools
from dataclasses import fields, replace

import pytest
import torch
from torch import nn
from torch.func import functional_call, jacrev
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntpcompanion.mlm.curvature.balanced_trace import balanced_trace, unit_gain
from ntpcompanion.mlm.curvature.example_gradients import squared_gradients
from ntpcompanion.mlm.curvature.function_trace import function_traces
from ntpcompanion.mlm.curvature.invariant_trace import gradient_moments, invariant_trace
from ntpcompanion.mlm.curvature.symmetries import identity, normal_form, transform
from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.network_plan import ModelPlan
from tests.mlm.cases import TRANSFORMER, generator
from tests.mlm.planted import HEADS, examples, planted
from tests.mlm.rescaled import PARAMETERS, network, total
from tests.networks.cases import double

EXACT = network(0.0)  # without the ε of LayerNorms all symmetries are exact
DRAWN = examples(TRANSFORMER, 300)


def groups(parameters, drawn=DRAWN, of=EXACT):
    """Squared gradients by another way than `gradient_moments`: no gradient is formed."""
    return {n: s.mean() for n, s in squared_gradients(of, parameters, *drawn).items()}


def minimal(parameters, drawn=DRAWN, of=EXACT):
    normal = normal_form(parameters, of.plan.heads)
    return invariant_trace(gradient_moments(of, normal, *drawn), normal)


def balanced(parameters):
    return float(balanced_trace(groups(parameters), unit_gain(parameters)).value)


@pytest.mark.parametrize("seed", range(3))
def test_a_planted_symmetry_moves_the_plain_and_the_balanced_trace_only(seed):
    moved = transform(PARAMETERS, planted(PARAMETERS, seed, 0.5))
    first, second = minimal(PARAMETERS), minimal(moved)
    assert float(second.value) == pytest.approx(float(first.value), rel=1e-8)
    assert float(second.gradient) <= 1e-9
    assert abs(total(groups(moved)) / total(groups(PARAMETERS)) - 1) > 0.02
    assert abs(balanced(moved) / balanced(PARAMETERS) - 1) > 0.02


def test_the_network_at_the_minimum_has_that_trace():
    normal, found = normal_form(PARAMETERS, HEADS), minimal(PARAMETERS)
    moved = transform(normal, found.symmetry)
    assert total(groups(moved)) == pytest.approx(float(found.value), rel=1e-10)
    assert float(found.value) < 0.8 * balanced(PARAMETERS)


@pytest.mark.slow
def test_no_symmetry_that_descent_finds_is_better():
    """L-BFGS on the trace of the transformed network, over all symmetries but the scales which the
    normal form fixes, from random ones.
    """
    few = examples(TRANSFORMER, 60)
    normal, found = normal_form(PARAMETERS, HEADS), minimal(PARAMETERS, few)
    drawn, trivial = planted(PARAMETERS, 4), identity(normal, HEADS)
    names = [f.name for f in fields(trivial) if f.name not in ("stream", "start")]
    free = {name: getattr(drawn, name).clone().requires_grad_() for name in names}
    free["gains"] = drawn.gains.log().requires_grad_()

    def trace():
        moves = free | {"gains": free["gains"].exp()}
        squares = groups(transform(normal, replace(trivial, **moves)), few)
        return torch.stack(list(squares.values())).sum()

    search = torch.optim.LBFGS(free.values(), max_iter=150, line_search_fn="strong_wolfe")

    def closure():
        search.zero_grad()
        value = trace()
        value.backward()
        return value

    search.step(closure)
    reached = float(trace().detach())
    assert reached >= float(found.value) * (1 - 1e-9)
    assert reached == pytest.approx(float(found.value), rel=1e-3)


def test_no_direction_that_leaves_all_predictions_moves_the_trace():
    """All directions of parameters along which no output changes, found numerically: whoever knows
    a symmetry that we do not will find it among them.
    """
    plan = ModelPlan("transformer", 4, 1, 2, 3, words=5, positions=2)
    model, of = double(plan), build_model(plan, 0, "meta")
    for layer in of.modules():
        if isinstance(layer, nn.LayerNorm):
            layer.eps = 0.0
    named = {name: p.detach() for name, p in model.named_parameters()}
    theta = torch.cat([p.flatten() for p in named.values()])
    tokens = torch.tensor(list(itertools.product(range(-2, 5), repeat=2))).repeat(2, 1)
    at = torch.arange(2)[:, None].repeat_interleave(len(tokens) // 2, 0)
    drawn = tokens, at, torch.randint(0, 5, (len(tokens),), generator=generator())

    def parameters(flat):
        parts = flat.split([p.numel() for p in named.values()])
        return {n: x.view_as(p) for (n, p), x in zip(named.items(), parts, strict=True)}

    def outputs(flat):
        with sdpa_kernel(SDPBackend.MATH):
            return functional_call(of, parameters(flat), (tokens, at)).log_softmax(-1).flatten()

    _, sizes, rows = torch.linalg.svd(jacrev(outputs)(theta), full_matrices=False)
    rank = int((sizes > 1e-10 * sizes[0]).sum())
    assert sizes[rank - 1] > 1e5 * sizes[rank]  # what counts as null is not a choice
    mixed = torch.randn(8, len(rows) - rank, generator=generator(), dtype=torch.float64)
    null = torch.nn.functional.normalize(mixed @ rows[rank:])  # each sees every direction

    def change(function, direction, step=1e-4):
        up, down = (float(function(parameters(theta + s * direction))) for s in (step, -step))
        return (up - down) / (2 * step * float(function(named)))

    def plain(p):
        return total(groups(p, drawn, of))

    def ours(p):
        return minimal(p, drawn, of).value

    assert max(abs(change(ours, direction)) for direction in null) < 1e-7
    assert max(abs(change(plain, direction)) for direction in null) > 1e-2
    assert max(abs(change(ours, direction)) for direction in rows[:3]) > 1e-2


def test_a_stack_is_minimized_model_by_model():
    both = {n: torch.stack([p, q]) for (n, p), q in zip(PARAMETERS.items(), other(), strict=True)}
    normal, labels = normal_form(both, HEADS), DRAWN[2].expand(2, -1)
    found = invariant_trace(gradient_moments(EXACT, normal, *DRAWN[:2], labels), normal)
    alone = [minimal({n: p[row] for n, p in both.items()}).value for row in range(2)]
    torch.testing.assert_close(found.value, torch.stack(alone))


def other():
    return [p.detach() for p in double(TRANSFORMER, 1).parameters()]


def test_halves_that_are_equal_have_the_symmetry_of_their_own():
    stack = {name: p[None] for name, p in PARAMETERS.items()}
    tokens, at, _ = (x.repeat_interleave(2, 0) for x in DRAWN)
    uniforms = torch.rand(300, 2, generator=generator()).repeat_interleave(2, 0)
    found = function_traces(EXACT, stack, tokens, at, uniforms)
    torch.testing.assert_close(found.value, found.fitted)
    assert found.median.item() < found.value.item()
    assert 1 / 600 < found.largest.item() < 0.1


def test_a_symmetry_of_the_other_half_is_not_better_than_ones_own():
    stack = {name: p[None] for name, p in PARAMETERS.items()}
    uniforms = torch.rand(300, 1, generator=generator())
    found = function_traces(EXACT, stack, *DRAWN[:2], uniforms)
    assert found.fitted.item() < found.value.item() < 1.5 * found.fitted.item()
    assert 0 < found.stderr.item() < 0.2 * found.value.item()


def test_what_is_refused():
    normal = normal_form(PARAMETERS, HEADS)
    moments = gradient_moments(EXACT, normal, *DRAWN)
    with pytest.raises(ValueError, match="`moments` must be finite"):
        invariant_trace(moments | {"bias": torch.tensor(float("nan"))}, normal)
    unused = moments | {"out": torch.zeros_like(moments["out"])}
    unused["out_offsets"] = torch.zeros_like(moments["out_offsets"])
    with pytest.raises(ValueError, match="no minimum over symmetries"):
        invariant_trace(unused, normal)
    with pytest.raises(ValueError, match=r"`tokens` must be .*, got .* with shape \(300, 3\)"):
        gradient_moments(EXACT, normal, DRAWN[0][:, :3], *DRAWN[1:])
    stack = {name: p[None] for name, p in PARAMETERS.items()}
    with pytest.raises(ValueError, match="must hold at least 4 sentences, for two halves"):
        function_traces(EXACT, stack, DRAWN[0][:3], DRAWN[1][:3], torch.rand(3, 1))

from dataclasses import replace

import pytest
import torch
from torch.func import functional_call, grad

from ntpcompanion.mlm import HMMPlan, draw_test_set, measured_traces
from ntpcompanion.mlm.curvature.perturbed_loss import (
    noisy_pairs,
    predicted_by_rounding,
    rounded,
)
from ntpcompanion.mlm.curvature.squared_gradients import (
    OneMask,
    fisher_by_parameter,
    population_loss,
)
from ntpcompanion.networks import Stack, TransformerSize, initial_stack

SHAPE = TransformerSize(8, layers=1, heads=2).for_sentences(words=6, positions=4)


@pytest.fixture(scope="module")
def stack():
    made = initial_stack(SHAPE, seeds=[0, 1], deviation=0.3)
    return Stack(SHAPE, {name: p.double() for name, p in made.parameters.items()})


@pytest.fixture(scope="module")
def test_set():
    return draw_test_set(HMMPlan(2, 6, 4).build(), 40, positions=4, seed=0)


def test_a_pair_rises_by_half_the_curvature_along_its_noise(stack, test_set):
    scale, row = 1e-3, 1
    copies = noisy_pairs(stack, scale, 2, seeds=[0, 1])
    model = OneMask(stack.model(row).double())

    def loss(parameters):
        named = {f"model.{name}": p for name, p in parameters.items()}
        return population_loss(functional_call(model, named, test_set.tokens), test_set)

    def of(some):
        return {name: p[row] for name, p in some.parameters.items()}

    for plus, minus in zip(copies[::2], copies[1::2], strict=True):
        noise = {name: (p - of(stack)[name]) / scale for name, p in of(plus).items()}
        slopes = [grad(loss)(of(copy)) for copy in (plus, minus)]
        curved = sum(float(((slopes[0][n] - slopes[1][n]) * noise[n]).sum()) for n in noise)
        expected = scale / 4 * curved  # ½ σ² ξᵀHξ by differences of gradients
        rise = (loss(of(plus)) + loss(of(minus))) / 2 - loss(of(stack))
        assert float(rise) == pytest.approx(expected, rel=1e-3)
    values = torch.cat([p.flatten() for p in noise.values()])
    assert float(values.square().mean()) == pytest.approx(1, abs=0.2)


def test_every_network_and_pair_has_noise_of_its_own_and_seeds_repeat_it(stack):
    copies = noisy_pairs(stack, 0.1, 2, seeds=[3, 4])
    moved = [copy.parameters["bias"] - stack.parameters["bias"] for copy in copies]
    assert not torch.allclose(moved[0][0], moved[0][1])
    assert not torch.allclose(moved[0], moved[2])
    again = noisy_pairs(stack, 0.1, 2, seeds=[3, 4])
    assert all(
        torch.equal(x.parameters["bias"], y.parameters["bias"])
        for x, y in zip(copies, again, strict=True)
    )


@pytest.mark.parametrize("bits", [2, 5])
def test_rounded_matrices_lie_on_a_grid_and_vectors_are_left(stack, bits):
    new = rounded(stack, bits)
    for name, p in stack.parameters.items():
        for row in range(2):
            old, other = p[row], new.parameters[name][row]
            if old.ndim < 2:
                assert torch.equal(old, other)
                continue
            step = (old.max() - old.min()) / (2**bits - 1)
            assert len(((other - old.min()) / step).round(decimals=6).unique()) <= 2**bits
            assert float((old - other).abs().max()) <= float(step) / 2 * (1 + 1e-9)


def test_the_prediction_sums_steps_and_traces_of_every_matrix(stack, test_set):
    uniforms = torch.rand(40, 30, generator=torch.Generator().manual_seed(0)).double()
    traces = measured_traces(
        stack.network, stack.parameters, test_set.tokens, test_set.positions, uniforms
    )
    predicted = predicted_by_rounding(stack, traces, bits=4)
    for row in range(2):
        exact = fisher_by_parameter(stack.model(row).double(), test_set.tokens)
        of_row = {name: p[row] for name, p in stack.parameters.items() if p.ndim > 2}
        expected = sum(
            float((p.max() - p.min()) / 15) ** 2 / 24 * exact[name] for name, p in of_row.items()
        )
        assert float(predicted[row]) == pytest.approx(expected, rel=0.05)


def test_both_halves_of_keys_and_values_share_the_grid_of_their_matrix(stack, test_set):
    uniforms = torch.rand(40, 1, generator=torch.Generator().manual_seed(0)).double()
    traces = measured_traces(
        stack.network, stack.parameters, test_set.tokens, test_set.positions, uniforms
    )
    halves = {"blocks.0.key.weight": 3.0, "blocks.0.value.weight": 4.0}
    planted = {name: torch.full((2,), halves.get(name, 0.0)).double() for name in traces.by_group}
    predicted = predicted_by_rounding(stack, replace(traces, by_group=planted), bits=3)
    for row, matrix in enumerate(stack.parameters["blocks.0.key_value.weight"]):
        step = float(matrix.max() - matrix.min()) / 7
        assert float(predicted[row]) == pytest.approx(step**2 / 24 * 7.0)


def test_wrong_numbers_are_named(stack):
    with pytest.raises(ValueError, match="`scale`"):
        noisy_pairs(stack, 0.0, 1, seeds=[0, 1])
    with pytest.raises(ValueError, match="`seeds` must hold one for each network"):
        noisy_pairs(stack, 0.1, 1, seeds=[0])
    with pytest.raises(ValueError, match="`bits`"):
        rounded(stack, 1)

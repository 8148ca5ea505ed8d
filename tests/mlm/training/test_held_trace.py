from dataclasses import replace

import numpy as np
import pytest
import torch

from ntpcompanion.mlm import (
    HeldTracePlan,
    HMMPlan,
    TrainingPlan,
    draw_test_set,
    function_traces,
    measured_traces,
    trained_stack,
)
from ntpcompanion.mlm.training.held_trace import flattest, hold_trace, stops_of_equal_loss
from ntpcompanion.networks import TransformerSize, initial_stack
from ntpcompanion.networks.stack import Stack
from ntpcompanion.randomness import torch_stream

LANGUAGE = HMMPlan(states=3, words=10, length=5, transition=0.2, emission=0.2).build()
SHAPE = TransformerSize(8, layers=1, heads=2).for_sentences(words=10, positions=5)
TEST = draw_test_set(LANGUAGE, 400, positions=5, seed=1)
SENTENCES = TEST.tokens, TEST.positions
UNIFORMS = torch.rand(400, generator=torch.Generator().manual_seed(0))
PLAN = HeldTracePlan(
    TrainingPlan(steps=200, batch_size=64, learning_rate=5e-3, weight_decay=0.0),
    corrected_every=10,
    flattened_every=20,
)


@pytest.fixture(scope="module")
def saturated():
    training = TrainingPlan(steps=300, batch_size=64, learning_rate=2e-2, weight_decay=0.0)
    untrained = initial_stack(SHAPE, [0, 1], deviation=0.1)
    return trained_stack(untrained, training, LANGUAGE, [0, 1], "pretraining", labels="exact")


def last_of(states):
    *_, state = states
    return state


def test_the_flattest_parameters_have_the_same_function_and_its_trace(saturated):
    moved = Stack(SHAPE, flattest(saturated, *SENTENCES, UNIFORMS))
    torch.testing.assert_close(
        moved.logits(*SENTENCES).float(), saturated.logits(*SENTENCES), rtol=0, atol=1e-3
    )
    plain, least = (
        function(stack.network, stack.parameters, *SENTENCES, UNIFORMS[:, None])
        for function, stack in ((measured_traces, moved), (function_traces, saturated))
    )
    np.testing.assert_allclose(plain.plain, least.fitted, rtol=1e-3)


@pytest.mark.slow
def test_without_control_it_is_plain_training_from_the_flattest_parameters(saturated):
    free = replace(PLAN, proportional=0.0, integral=0.0, flattened_every=400)
    found = last_of(hold_trace(saturated, free, LANGUAGE, [0.0, 1.0], [0, 1], *SENTENCES)).stack
    drawn = torch.rand(400, generator=torch_stream(0, "labels of flattest parameters"))
    start = flattest(saturated, *SENTENCES, drawn)
    start = Stack(SHAPE, {name: p.float() for name, p in start.items()})
    plain = trained_stack(start, PLAN.training, LANGUAGE, [0, 1], "penalty", labels="exact")
    for name, p in plain.parameters.items():
        torch.testing.assert_close(found.parameters[name].detach(), p, rtol=0, atol=1e-6)


def test_the_trace_of_the_function_moves_by_the_changes(saturated):
    changes, before = [-0.3, 0.0, 0.3], {n: p.clone() for n, p in saturated.parameters.items()}
    start = saturated.take([0, 0, 0])
    state = last_of(hold_trace(start, PLAN, LANGUAGE, changes, [0, 0, 0], *SENTENCES))
    network, parameters = state.stack.network, state.stack.parameters
    traces = function_traces(network, parameters, *SENTENCES, UNIFORMS[:, None]).value.log()
    np.testing.assert_allclose(traces - traces[1], changes, atol=0.12)
    for name, p in saturated.parameters.items():
        assert torch.equal(p, before[name])


def test_parameters_are_replaced_by_the_flattest_of_their_function(saturated):
    """At a state in between, the trace as it is is that of the function on the same sentences."""
    drawn = torch.rand(400, generator=torch_stream(0, "labels of flattest parameters"))
    for state in hold_trace(saturated, PLAN, LANGUAGE, [0.3, 0.3], [0, 1], *SENTENCES):
        if state.step == PLAN.flattened_every:
            own = state.stack.network, state.stack.parameters, *SENTENCES, drawn[:, None]
            break
    np.testing.assert_allclose(measured_traces(*own).plain, function_traces(*own).fitted, rtol=1e-3)


@pytest.mark.slow
def test_the_error_itself_has_a_part_in_the_weight(saturated):
    """Without the sum of errors, two networks of one start and one seed part."""
    plan = replace(PLAN, integral=0.0, proportional=0.3)
    start, seeds = saturated.take([0, 0]), [0, 0]
    state = last_of(hold_trace(start, plan, LANGUAGE, [-0.3, 0.3], seeds, *SENTENCES))
    flat, sharp = function_traces(
        state.stack.network, state.stack.parameters, *SENTENCES, UNIFORMS[:, None]
    ).value.log()
    assert sharp - flat > 0.1


def test_networks_of_a_group_stop_where_they_cross_its_level_for_the_last_time():
    excess = np.array(
        [
            [9.0, 5.0, 4.0, 3.0, 2.9],  # the level of its group
            [9.0, 2.0, 3.5, 2.5, 1.0],  # after a dip; 2.5 is nearer than 3.5
            [2.0, 2.5, 1.0, 1.0, 1.0],  # never so large
            [1.0, 1.0, 1.0, 1.0, 0.5],  # a group of its own
        ]
    )
    assert stops_of_equal_loss(excess, [7, 7, 7, 3]).tolist() == [4, 3, 1, 4]


def test_plans_and_numbers_that_do_not_fit_are_named(saturated):
    with pytest.raises(ValueError, match=r"`flattened_every` must be a multiple of .* 25, got 30"):
        HeldTracePlan(PLAN.training, flattened_every=30)
    with pytest.raises(ValueError, match="`changes` must hold one for each network"):
        next(hold_trace(saturated, PLAN, LANGUAGE, [0.0], [0, 1], *SENTENCES))

import torch

from ntpcompanion.experiments.same_loss.interventions import (
    PRETRAINING,
    Adversarial,
    Continued,
    Measured,
    Noise,
    Penalty,
    Rescaled,
    Start,
)
from ntpcompanion.mlm.curvature.traces import measured_traces
from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set
from ntpcompanion.mlm.training.stacked_training import trained_stack
from ntpcompanion.networks.stack import initial_stack
from tests.mlm.cases import SHORT, SMALL, TRANSFORMER, generator

TOKENS, STATES = SMALL.build().sample_with_states(40, generator())
UNTRAINED = initial_stack(TRANSFORMER, [1, 2], deviation=0.3)
SATURATED = initial_stack(
    TRANSFORMER, [3, 4], deviation=0.3
)  # that they are not does not matter here
DOWNSTREAM = LabelledExamples(TOKENS, STATES[:, 0], 2)
START = Start(UNTRAINED, SATURATED, (1, 2), SMALL.build(), SHORT, "exact", DOWNSTREAM)


def gap(first, second):
    return max(
        float((first.parameters[name] - second.parameters[name]).abs().max())
        for name in first.parameters
    )


def test_strengths_and_seeds_are_crossed():
    (arm,) = Penalty(SHORT, (-0.1, 0.0, 0.1)).arms(START)
    assert arm.strengths == [-0.1, -0.1, 0.0, 0.0, 0.1, 0.1]
    assert arm.seeds == [1, 2, 1, 2, 1, 2]


def test_a_penalty_moves_the_trace_in_its_direction():
    """The two signs are paired: the same sentences, the same labels."""
    (arm,) = Penalty(SHORT, (-1.0, 1.0)).arms(START)
    test = draw_test_set(SMALL.build(), 100, 4, 0)
    uniforms = torch.rand(100, 2, generator=generator())
    found = measured_traces(
        arm.stack.network, arm.stack.parameters, test.tokens, test.positions, uniforms
    ).plain
    assert (found[2:] < found[:2]).all()


def test_noise_of_rate_zero_is_the_anneal_alone():
    sgd = {"steps": 4, "batch_size": 8, "optimizer": "sgd", "learning_rate": 0.5}
    noise = Noise(type(SHORT)(**sgd), (0.0, 1.0), SHORT)
    raw, annealed = noise.arms(START)
    assert (raw.kind, raw.measured, annealed.kind) == ("sgd", Measured.LOSS, "annealed")
    assert gap(raw.stack.take([0, 1]), SATURATED) == 0
    assert gap(raw.stack.take([2, 3]), SATURATED) > 1e-3
    assert gap(annealed.stack.take([0, 1]), SATURATED) > 1e-3


def test_training_on_sees_other_sentences_than_the_pre_training():
    (arm,) = Continued(SHORT).arms(START)
    assert (arm.kind, arm.strengths, arm.seeds) == ("continued", [6.0, 6.0], [1, 2])
    again = trained_stack(SATURATED, SHORT, START.language, (1, 2), PRETRAINING, labels="exact")
    assert gap(arm.stack, again) > 1e-3


def test_an_adversary_is_there_from_the_first_step_of_the_pre_training():
    (arm,) = Adversarial((0.0, 0.5), ridge=2.0, first=12, second=8).arms(START)
    assert (arm.strengths, arm.seeds, arm.measured) == (
        [0.0, 0.0, 0.5, 0.5],
        [1, 2, 1, 2],
        Measured.ALL,
    )
    normal = trained_stack(UNTRAINED, SHORT, START.language, (1, 2), PRETRAINING, labels="exact")
    assert gap(arm.stack.take([0, 1]), normal) < 1e-5
    assert gap(arm.stack.take([2, 3]), normal) > 1e-4


def test_rescaling_keeps_the_function():
    (arm,) = Rescaled((-0.5, 0.5)).arms(START)
    at = torch.zeros(40, 1, dtype=torch.int64)
    for row, original in enumerate((0, 1, 0, 1)):
        found = arm.stack.model(row)(TOKENS, at)
        plain = SATURATED.model(original)(TOKENS, at)
        # the constant inside the LayerNorms is all that a scale can be noticed by
        torch.testing.assert_close(found, plain, rtol=0, atol=2e-3)
    assert gap(arm.stack.take([0, 1]), SATURATED) > 0.1

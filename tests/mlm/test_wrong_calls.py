"""Every argument of the public names of this package, wrong in every way that a user may get it
wrong.
"""

from dataclasses import replace

import numpy as np
import torch

from ntpcompanion import mlm
from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
from ntpcompanion.mlm.probes.converged_probe import probe_stack
from ntpcompanion.mlm.probes.probe import ProbePlan
from ntpcompanion.mlm.training.stacked_regularizers import AdversarialPlan
from ntpcompanion.networks.stack import initial_stack
from tests.mistakes import wrong_calls
from tests.mlm.cases import SHORT, SMALL, TRANSFORMER, generator

LANGUAGE = SMALL.build()
SGD = replace(SHORT, optimizer="sgd")
TEST = mlm.draw_test_set(LANGUAGE, 10, positions=4, seed=0)
STACK = initial_stack(TRANSFORMER, [0, 1])
LABELS = torch.tensor([0, 1]).repeat(10)
EXAMPLES = LabelledExamples(torch.arange(40.0).view(20, 2), LABELS, 2)
PROBE = mlm.ConvergedProbe(dims=1, draws=1, shots=5, subsets=1, ridges=(0.1,), max_iterations=3)
FEATURES = torch.arange(80.0).view(2, 20, 2).sin()
POSTERIOR = torch.full((20, 2), 0.5)
UNIFORMS = torch.rand(10, 1, generator=generator())


def model():
    return STACK.model(0)


RIGHT = {
    "HMMPlan": (mlm.HMMPlan, {"states": 2, "words": 6, "length": 4}),
    "HMMPlan.build": (SMALL.build, {}),
    "PCFGPlan": (mlm.PCFGPlan, {"nonterminals": 6, "words": 8, "depth": 3}),
    "TrainingPlan": (mlm.TrainingPlan, {"steps": 6, "batch_size": 8}),
    "AdversarialPlan": (AdversarialPlan, {"weight": 0.1, "ridge": 1.0, "first": 3, "second": 3}),
    "ProbePlan": (ProbePlan, {}),
    "ConvergedProbe": (mlm.ConvergedProbe, {}),
    "LabelledExamples": (
        LabelledExamples,
        {"inputs": EXAMPLES.inputs, "labels": LABELS, "classes": 2},
    ),
    "context_gaps": (mlm.context_gaps, {"language": LANGUAGE, "sentences": 10, "seed": 0}),
    "train": (mlm.train, {"model_plan": TRANSFORMER, "plan": SHORT, "language": LANGUAGE}),
    "trained_stack": (
        mlm.trained_stack,
        {"start": STACK, "plan": SGD, "language": LANGUAGE, "seeds": [0, 1], "name": "more"},
    ),
    "batch_generator": (mlm.batch_generator, {"seed": 0, "use": "training", "number": 0}),
    "draw_batch": (
        mlm.draw_batch,
        {"language": LANGUAGE, "sentences": 3, "positions": 4, "fraction": 0.5}
        | {"generator": generator},
    ),
    "draw_test_set": (
        mlm.draw_test_set,
        {"language": LANGUAGE, "sentences": 10, "positions": 4, "seed": 0},
    ),
    "evaluate": (mlm.evaluate, {"model": lambda: model(), "test": TEST}),
    "block_divergence": (mlm.block_divergence, {"language": LANGUAGE, "test": TEST}),
    "draw_task": (
        mlm.draw_task,
        {"language": LANGUAGE, "position": 2, "train": 5, "test": 5, "positions": 4}
        | {"generator": generator},
    ),
    "linear_probe": (
        mlm.linear_probe,
        {"train": EXAMPLES, "test": EXAMPLES, "plan": ProbePlan(epochs=1), "generator": generator},
    ),
    "probe_stack": (
        probe_stack,
        {"train": FEATURES, "labels": LABELS, "test": FEATURES, "posterior": POSTERIOR}
        | {"plan": PROBE, "generator": generator},
    ),
    "measured_traces": (
        mlm.measured_traces,
        {"network": lambda: STACK.network, "parameters": STACK.parameters}
        | {"tokens": TEST.tokens, "positions": TEST.positions, "uniforms": UNIFORMS},
    ),
    "function_traces": (
        mlm.function_traces,
        {"network": lambda: STACK.network, "parameters": STACK.parameters}
        | {"tokens": TEST.tokens, "positions": TEST.positions, "uniforms": UNIFORMS},
    ),
    "rescale": (
        mlm.rescale,
        {"parameters": STACK.parameters, "scales": torch.zeros(2, 10)},
    ),
    "enlarge": (mlm.enlarge, {"model": model, "plan": TRANSFORMER, "scaling": "balanced"}),
}
KINDS = {
    "language": (None, "hmm-4", SMALL, np.eye(2)),
    "plan": (None, "plan", {"steps": 3}, SMALL),
    "model": (None, "model", TRANSFORMER, 3),
    "stack": (None, "stack", [0, 1], TRANSFORMER),
    "test": (None, "test", TEST.tokens),
    "examples": (None, "examples", np.eye(2), torch.eye(2)),
    "seed": ("x", 1.5, True, None, -1, np.nan),
    "seeds": (None, 3, "ab", [0], [0, 1, 2], [0.5, 1.5], [0, -1], [True, False]),
    "rates": (3, "ab", [1.0], [1.0, np.nan], ["a", "b"]),
    "eval_steps": (3, "ab", [-1], [7], [1.5], ["a"]),
    "proportion": ("x", None, np.nan, -0.1, 1.5, True),
    "fraction": ("x", None, np.nan, -0.1, 1.0, True),
    "at_least_0": ("x", None, np.nan, -0.1, np.inf, True),
    "micro": ("x", None, 2.5, -1, 3, True),
    "whole": ("x", None, 2.5, -1, np.nan, True),
    "pairs": (None, 3, "ab", (0.9,), (0.9, 0.9, 0.9), (0.9, 1.0), (-0.1, 0.5), ("a", "b")),
    "ridges": (None, 3, "ab", (), (0.0,), (-1.0,), (np.nan,), ("a",)),
    "flag": ("yes", 1, None),
    "name": (3, None, ["more"]),
    "path": ("folder", 3),
    "start": ("x", 3, [1.0], {"bias": "x"}, {"bias": torch.ones(6)}),
    "second": ("x", 3),
    "processes": ("x", 3),
    "term": ("x", 3),
    "parameters": (None, "x", {}, {"bias": torch.ones(2, 6)}, [1.0]),
    "scales": (None, "x", np.zeros((2, 10)), torch.zeros(2, 3), torch.zeros(()), [0.0]),
    "features": (None, "x", np.ones((2, 20, 2)), torch.ones(20, 2), torch.full((2, 20, 2), np.nan)),
    "labels": (None, "x", LABELS.numpy(), LABELS[:3], LABELS.double(), LABELS + 1),
    "posterior": (None, "x", POSTERIOR.numpy(), POSTERIOR[:3], POSTERIOR[:, 0], POSTERIOR - 1),
    "masked": (
        None,
        "x",
        TEST.tokens.numpy(),
        TEST.tokens.double(),
        TEST.tokens[:, 0],
        TEST.tokens[:, :3],
    ),
    "asked": (
        None,
        "x",
        TEST.positions.numpy(),
        TEST.positions.double(),
        TEST.positions[:, 0],
        TEST.positions[:3],
        TEST.positions + 9,
    ),
    "uniforms": (
        None,
        "x",
        UNIFORMS.numpy(),
        UNIFORMS[:, 0],
        UNIFORMS[:3],
        UNIFORMS + 1,
        UNIFORMS[:, :0],
    ),
    "inputs": (None, "x", np.eye(20), EXAMPLES.inputs[:3], torch.full((20, 2), np.nan)),
    "classes": ("x", None, 1, 2.0, -1),
    "position": ("x", None, 0, -1, 2.5, True, 9),
    "positions": ("x", None, 0, -1, 2.5, True, 2),
    "few": ("x", None, 0, -1, 2.5, True, 4),
}
WRONG = """
HMMPlan: states=size words=size length=size blocks=size seed=seed transition=positive
HMMPlan: emission=positive family=choice
HMMPlan.build: device=device
PCFGPlan: nonterminals=size words=size depth=size seed=seed pairs=size_or_none
PCFGPlan: words_each=size_or_none
PCFGPlan: family=choice
TrainingPlan: steps=size batch_size=size micro_batch=micro optimizer=choice learning_rate=positive
TrainingPlan: betas=pairs epsilon=at_least_0 weight_decay=at_least_0 warmup=fraction
TrainingPlan: schedule=choice mask_share=fraction precision=choice compile=flag seed=seed
AdversarialPlan: weight=at_least_0 ridge=positive first=size second=size dims=whole
ProbePlan: learning_rate=positive epochs=size batch_size=size warmup=at_least_0
ProbePlan: weight_decay=at_least_0 scaling=choice
ConvergedProbe: dims=size draws=size shots=size subsets=size ridges=ridges criterion=choice
ConvergedProbe: tolerance=positive max_iterations=size
LabelledExamples: inputs=inputs labels=labels classes=classes
context_gaps: language=language sentences=few seed=seed device=device enumerated=integer
train: model_plan=plan plan=plan language=language start=start second=second device=device
train: eval_steps=eval_steps checkpoint=path save_every=size processes=processes
trained_stack: start=stack plan=plan language=language seeds=seeds name=name labels=choice
trained_stack: rates=rates term=term
batch_generator: seed=seed use=choice number=seed device=device
draw_batch: language=language sentences=size positions=positions fraction=proportion
draw_batch: generator=generator
draw_test_set: language=language sentences=few positions=positions seed=seed device=device
draw_test_set: batch=size
evaluate: model=model test=test batch=size
block_divergence: language=language test=test
draw_task: language=language position=position train=size test=size positions=positions
draw_task: generator=generator
linear_probe: train=examples test=examples plan=plan generator=generator
probe_stack: train=features labels=labels test=features posterior=posterior plan=plan
probe_stack: generator=generator models=size
measured_traces: network=model parameters=parameters tokens=masked positions=asked uniforms=uniforms
measured_traces: chunk=size
function_traces: network=model parameters=parameters tokens=masked positions=asked uniforms=uniforms
rescale: parameters=parameters scales=scales
enlarge: model=model plan=plan scaling=choice zeros=choice
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(WRONG, RIGHT, KINDS)

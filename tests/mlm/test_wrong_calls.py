"""Wrong arguments of this package that an annotation alone does not rule out."""

from dataclasses import replace

import torch

from ntpcompanion import mlm
from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
from ntpcompanion.networks.stack import initial_stack
from tests.mistakes import wrong_calls
from tests.mlm.cases import SHORT, SMALL, TRANSFORMER, generator

LANGUAGE = SMALL.build()
TEST = mlm.draw_test_set(LANGUAGE, 10, positions=4, seed=0)
STACK = initial_stack(TRANSFORMER, [0, 1])
LABELS = torch.tensor([0, 1]).repeat(10)
STACKED = {"start": STACK, "plan": replace(SHORT, optimizer="sgd"), "language": LANGUAGE}
BATCH = {"language": LANGUAGE, "sentences": 3, "fraction": 0.5, "generator": generator}
TASK = {"language": LANGUAGE, "position": 2, "train": 5, "test": 5, "positions": 4}
TRACES = {"network": lambda: STACK.network, "parameters": STACK.parameters}
TRACES |= {"tokens": TEST.tokens, "positions": TEST.positions, "uniforms": torch.rand(10, 1)}

RIGHT = {
    "TrainingPlan": (mlm.TrainingPlan, {"steps": 6, "batch_size": 8}),
    "LabelledExamples": (
        LabelledExamples,
        {"inputs": torch.arange(40.0).view(20, 2), "labels": LABELS, "classes": 2},
    ),
    "context_gaps": (mlm.context_gaps, {"language": LANGUAGE, "sentences": 10, "seed": 0}),
    "train": (mlm.train, {"model_plan": TRANSFORMER, "plan": SHORT, "language": LANGUAGE}),
    "trained_stack": (mlm.trained_stack, {**STACKED, "seeds": [0, 1], "name": "more"}),
    "batch_generator": (mlm.batch_generator, {"seed": 0, "use": "training", "number": 0}),
    "draw_batch": (mlm.draw_batch, {**BATCH, "positions": 4}),
    "draw_task": (mlm.draw_task, {**TASK, "generator": generator}),
    "measured_traces": (mlm.measured_traces, TRACES),
    "function_traces": (mlm.function_traces, TRACES),
    "rescale": (mlm.rescale, {"parameters": STACK.parameters, "scales": torch.zeros(2, 10)}),
}
KINDS = {
    "language": (None, "hmm-4", SMALL),
    "plan": (None, "plan", {"steps": 3}, SMALL),
    "stack": (None, "stack", [0, 1], TRANSFORMER),
    "seed": ("x", True, -1),
    "seeds": (None, 3, [0], [0, 1, 2], [0.5, 1.5]),
    "rates": (3, [1.0], ["a", "b"]),
    "eval_steps": ("ab", [-1], [7]),
    "micro": (3,),
    "start": ({"bias": "x"}, {"bias": torch.ones(6)}),
    "parameters": ({}, {"bias": torch.ones(2, 6)}),
    "scales": (torch.zeros(2, 3), torch.zeros(())),
    "labels": (LABELS[:3], LABELS.double(), LABELS + 1),
    "inputs": (torch.ones(3, 2), torch.full((20, 2), torch.nan)),
    "position": (9,),
    "positions": (2,),
    "few": (4,),
}
WRONG = """
TrainingPlan: micro_batch=micro
LabelledExamples: inputs=inputs labels=labels
context_gaps: sentences=few
train: start=start eval_steps=eval_steps
trained_stack: start=stack plan=plan language=language seeds=seeds rates=rates
batch_generator: seed=seed number=seed
draw_batch: positions=positions
draw_task: position=position positions=positions
measured_traces: parameters=parameters
function_traces: parameters=parameters
rescale: parameters=parameters scales=scales
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(WRONG, RIGHT, KINDS)

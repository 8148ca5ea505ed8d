"""Every argument of the public names of this room, wrong in every way that a user may get it
wrong.
"""

import numpy as np
import pytest
import torch

from ntpcompanion import networks
from tests.mistakes import check_named, trials

PLAN = networks.ModelPlan("transformer", 8, 1, 2, 16, words=6, positions=3)
LSTM = networks.ModelPlan("lstm", 8, 1, words=6, positions=3)
STACK = networks.initial_stack(PLAN, [0, 1])
TOKENS, AT = torch.tensor([[0, 1, 2], [3, 4, -2]]), torch.tensor([[0], [2]])


def model():
    return networks.build_model(PLAN, 0)


def several():
    return [networks.build_model(PLAN, seed) for seed in (0, 1)]


RIGHT = {
    "ModelPlan": (
        networks.ModelPlan,
        {"kind": "transformer", "width": 8, "layers": 1, "heads": 2, "inner": 16},
    ),
    "TransformerSize": (
        lambda **sizes: networks.TransformerSize(**sizes).for_sentences(6, 3),
        {"width": 8, "layers": 1, "heads": 2},
    ),
    "for_sentences": (
        networks.TransformerSize(8, 1, 2).for_sentences,
        {"words": 6, "positions": 3},
    ),
    "build_model": (networks.build_model, {"plan": PLAN, "seed": 0}),
    "parameters_of": (networks.parameters_of, {"model": model}),
    "transformer": (networks.build_model(PLAN, 0), {"tokens": TOKENS, "at": AT}),
    "transformer.features": (networks.build_model(PLAN, 0).features, {"tokens": TOKENS}),
    "lstm": (networks.build_model(LSTM, 0), {"tokens": TOKENS, "at": AT}),
    "lstm.features": (networks.build_model(LSTM, 0).features, {"tokens": TOKENS}),
    "Stack.logits": (STACK.logits, {"tokens": TOKENS, "at": AT}),
    "Stack.features": (STACK.features, {"tokens": TOKENS}),
    "Stack.take": (STACK.take, {}),
    "Stack.model": (STACK.model, {}),
    "initial_stack": (networks.initial_stack, {"plan": PLAN, "seeds": [0, 1]}),
    "stack_models": (networks.stack_models, {"models": lambda: several()}),
}
KINDS = {
    "heads": (3, "3", 2.5, True, 0, -1),
    "plan": (None, "plan", {"width": 8}, networks.TransformerSize(8, 1, 2)),
    "seed": ("x", 1.5, True, None, -1, np.nan),
    "seeds": (None, 3, "ab", [], [0.5, 1.5], [0, -1], [True, False]),
    "flag": ("yes", 1, None),
    "module": (None, "model", PLAN, {"weight": 3}),
    "models": (None, "model", model(), [], ["a"], [3]),
    "words": (None, "x", TOKENS.numpy(), TOKENS / 2, TOKENS > 0, TOKENS[0], TOKENS[:, :2]),
    "at": ("x", 3, AT.numpy(), AT / 2, AT > 0, AT[0], AT[:1]),
    "rows": (None, "x", [0.5], [2], [-1], [True, False]),
}
WRONG = """
ModelPlan: kind=choice width=size layers=size heads=heads inner=size words=size positions=size
TransformerSize: width=size layers=size heads=heads
for_sentences: words=size positions=size
build_model: plan=plan seed=seed device=device causal=flag deviation=positive
parameters_of: model=module
transformer: tokens=words at=at
transformer.features: tokens=words
lstm: tokens=words at=at
lstm.features: tokens=words
Stack.logits: tokens=words at=at batch=size
Stack.features: tokens=words batch=size
Stack.take: rows=rows
Stack.model: row=rows
initial_stack: plan=plan seeds=seeds device=device deviation=positive
stack_models: models=models
"""


@pytest.mark.parametrize(("call", "arguments", "argument", "value"), trials(WRONG, RIGHT, KINDS))
@pytest.mark.usefixtures("unchecked_shapes")
def test_a_wrong_argument_is_named_in_a_sentence(call, arguments, argument, value):
    check_named(call, arguments, argument, value)

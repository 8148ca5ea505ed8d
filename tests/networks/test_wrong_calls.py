"""Every argument of the public names of this package, wrong in every way that a user may get it
wrong.
"""

import numpy as np
import torch

from ntpcompanion import networks
from tests.mistakes import wrong_calls

PLAN = networks.ModelPlan("transformer", 8, 1, 2, 16, words=6, positions=3)
LSTM = networks.ModelPlan("lstm", 8, 1, words=6, positions=3)
STACK = networks.initial_stack(PLAN, [0, 1])
TOKENS, AT = torch.tensor([[0, 1, 2], [3, 4, -2]]), torch.tensor([[0], [2]])


def model(device="cpu"):
    return networks.build_model(PLAN, 0, device)


def several():
    return [networks.build_model(PLAN, seed) for seed in (0, 1)]


FIELDS = {"plan": PLAN, "parameters": STACK.parameters}
OTHER = networks.ModelPlan("transformer", 8, 1, 2, 16, words=7, positions=3)
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
    "Transformer": (networks.Transformer, {"plan": PLAN}),
    "BidirectionalLSTM": (networks.BidirectionalLSTM, {"plan": LSTM}),
    "LanguageModel": (networks.LanguageModel, {"plan": PLAN, "rows": 8}),
    "LSTM plan": (networks.ModelPlan, {"kind": "lstm", "width": 8, "layers": 1}),
    "transformer": (networks.build_model(PLAN, 0), {"tokens": TOKENS, "positions": AT}),
    "transformer.features": (networks.build_model(PLAN, 0).features, {"tokens": TOKENS}),
    "lstm": (networks.build_model(LSTM, 0), {"tokens": TOKENS, "positions": AT}),
    "lstm.features": (networks.build_model(LSTM, 0).features, {"tokens": TOKENS}),
    "Stack then logits": (lambda **of: networks.Stack(**of).logits(TOKENS, AT), FIELDS),
    "Stack then features": (lambda **of: networks.Stack(**of).features(TOKENS), FIELDS),
    "Stack then take": (lambda **of: networks.Stack(**of).take([0]), FIELDS),
    "Stack then model": (lambda **of: networks.Stack(**of).model(0), FIELDS),
    "Stack then len": (lambda **of: len(networks.Stack(**of)), FIELDS),
    "Stack then device": (lambda **of: networks.Stack(**of).device, FIELDS),
    "Stack.logits": (STACK.logits, {"tokens": TOKENS, "positions": AT}),
    "Stack.features": (STACK.features, {"tokens": TOKENS}),
    "Stack.take": (STACK.take, {}),
    "Stack.model": (STACK.model, {}),
    "initial_stack": (networks.initial_stack, {"plan": PLAN, "seeds": [0, 1]}),
    "stack_models": (networks.stack_models, {"models": lambda: several()}),
}
KINDS = {
    "whole": ("3", 2.5, True, -1, None, [], [1], np.zeros(2)),
    "word": ("misspelled", 3, None, ["lstm"], np.array(["lstm", "a"])),
    "an_LSTM": (None, "plan", networks.TransformerSize(8, 1, 2), LSTM),
    "a_transformer": (None, "plan", networks.TransformerSize(8, 1, 2), PLAN),
    "rows_of_embeddings": (None, "8", 7, 2.5, True, -1),
    "device": ("gpu", 3.5, None, "cuda:99", torch.device("cuda", 99)),
    "tensors": (None, "x", [1.0], {}, {"bias": 3}, {"bias": torch.zeros(())}),
    "parameters": (
        *(None, "x", {}, {"bias": 3}, {"bias": torch.ones(2, 6)}),
        STACK.parameters | {"more": torch.ones(2)},
        STACK.parameters | {"bias": torch.ones(3, 6)},
        STACK.parameters | {"bias": torch.ones(2, 5)},
        STACK.parameters | {"bias": torch.ones(2, 6).long()},
        STACK.parameters | {"bias": torch.ones(2, 6, device="meta")},
        {name: p[0] for name, p in STACK.parameters.items()},
        {name: p.numpy() for name, p in STACK.parameters.items()},
    ),
    "values": (TOKENS + 9, TOKENS - 9, TOKENS.to("meta"), TOKENS.to_sparse(), TOKENS.byte()),
    "places": (None, AT + 3, AT - 1, AT.to("meta"), AT.short()),
    "row": (None, "x", 0.5, 2, -1, True, [0], torch.tensor([0])),
    "heads": (3, "3", 2.5, True, 0, -1),
    "plan": (None, "plan", {"width": 8}, networks.TransformerSize(8, 1, 2)),
    "seed": ("x", 1.5, True, None, -1, np.nan, np.int64(3), torch.tensor(3), 2**64),
    "seeds": (
        *(None, 3, "ab", [], [0.5, 1.5], [0, -1], [True, False], np.arange(2)),
        torch.arange(2),
        [np.int64(1)],
        torch.tensor(1),
    ),
    "flag": ("yes", 1, None),
    "module": (None, "model", PLAN, {"weight": 3}),
    "models": (
        *(None, "model", model(), [], ["a"], [3], iter([model()]), [model(), model("meta")]),
        [networks.build_model(PLAN, 0, causal=True)],
        [model(), networks.build_model(LSTM, 0)],
    ),
    "words": (
        *(None, "x", TOKENS.numpy(), TOKENS / 2, TOKENS > 0, TOKENS[0], TOKENS[:, :2]),
        TOKENS.to("meta"),
        TOKENS.to_sparse(),
        TOKENS.byte(),
        TOKENS.short(),
        TOKENS.tolist(),
    ),
    "at": (
        *("x", 3, AT.numpy(), AT / 2, AT > 0, AT[0], AT[:1], AT.to("meta")),
        AT.byte(),
        AT.tolist(),
    ),
    "rows": (None, "x", 0, [], [0.5], [2], [-1], [True, False], [[0, 1]]),
}
WRONG = """
ModelPlan: kind=word width=size layers=size heads=heads inner=size words=size positions=size
LSTM plan: width=size layers=size inner=whole
TransformerSize: width=whole layers=size heads=heads
for_sentences: words=size positions=size
build_model: plan=plan seed=seed device=device causal=flag deviation=positive
parameters_of: model=module
Transformer: plan=an_LSTM causal=flag
BidirectionalLSTM: plan=a_transformer
LanguageModel: plan=plan rows=rows_of_embeddings
transformer: tokens=words positions=at
transformer.features: tokens=words
lstm: tokens=words positions=at
lstm.features: tokens=words
Stack then logits: plan=plan parameters=parameters
Stack then features: plan=plan parameters=parameters
Stack then take: plan=plan parameters=tensors
Stack then model: plan=plan parameters=parameters
Stack then len: parameters=tensors
Stack then device: parameters=tensors
Stack.logits: tokens=values positions=places
Stack.features: tokens=values
Stack.logits: tokens=words positions=at batch=size
Stack.features: tokens=words batch=size
Stack.take: rows=rows
Stack.model: row=row
initial_stack: plan=plan seeds=seeds device=device deviation=positive
stack_models: models=models
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(WRONG, RIGHT, KINDS)

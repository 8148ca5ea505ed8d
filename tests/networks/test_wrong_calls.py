"""Wrong arguments of this package that an annotation alone does not rule out."""

import torch

from ntpcompanion import networks
from tests.mistakes import wrong_calls

PLAN = networks.ModelPlan("transformer", 8, 1, 2, 16, words=6, positions=3)
LSTM = networks.ModelPlan("lstm", 8, 1, words=6, positions=3)
STACK = networks.initial_stack(PLAN, [0, 1])
TOKENS, AT = torch.tensor([[0, 1, 2], [3, 4, -2]]), torch.tensor([[0], [2]])
CALLED = {"tokens": TOKENS, "positions": AT}
FIELDS = {"plan": PLAN, "parameters": STACK.parameters}
MODEL, OF_LSTM = networks.build_model(PLAN, 0), networks.build_model(LSTM, 0)
RIGHT = {
    "Transformer": (networks.Transformer, {}),
    "BidirectionalLSTM": (networks.BidirectionalLSTM, {}),
    "transformer": (MODEL, CALLED),
    "transformer.features": (MODEL.features, {}),
    "lstm": (OF_LSTM, CALLED),
    "lstm.features": (OF_LSTM.features, {}),
    "Stack then logits": (lambda **of: networks.Stack(**of).logits(TOKENS, AT), FIELDS),
    "Stack then features": (lambda **of: networks.Stack(**of).features(TOKENS), FIELDS),
    "Stack then model": (lambda **of: networks.Stack(**of).model(0), FIELDS),
    "Stack.logits": (STACK.logits, CALLED),
    "Stack.features": (STACK.features, {}),
    "Stack.model": (STACK.model, {}),
    "stack_models": (networks.stack_models, {}),
}
KINDS = {
    "an_LSTM": (None, networks.TransformerSize(8, 1, 2), LSTM),
    "a_transformer": (None, networks.TransformerSize(8, 1, 2), PLAN),
    "parameters": (
        STACK.parameters | {"more": torch.ones(2)},
        STACK.parameters | {"bias": torch.ones(3, 6)},
        STACK.parameters | {"bias": torch.ones(2, 5)},
        STACK.parameters | {"bias": torch.ones(2, 6).long()},
        STACK.parameters | {"bias": torch.ones(2, 6, device="meta")},
        {name: p[0] for name, p in STACK.parameters.items()},
    ),
    "values": (TOKENS + 9, TOKENS - 9, TOKENS.to("meta"), TOKENS.to_sparse(), TOKENS.byte()),
    "places": (None, AT + 3, AT - 1, AT.to("meta"), AT.short()),
    "row": (2, -1),
    "models": (
        *([], [MODEL, networks.build_model(PLAN, 0, "meta")]),
        [networks.build_model(PLAN, 0, causal=True)],
        [MODEL, OF_LSTM],
    ),
    "words": (
        *(None, "x", TOKENS.numpy(), TOKENS / 2, TOKENS > 0, TOKENS[0], TOKENS[:, :2]),
        *(TOKENS.to("meta"), TOKENS.to_sparse(), TOKENS.byte(), TOKENS.tolist()),
    ),
    "at": ("x", AT.numpy(), AT / 2, AT > 0, AT[0], AT[:1], AT.to("meta"), AT.tolist()),
}
WRONG = """
Transformer: plan=an_LSTM
BidirectionalLSTM: plan=a_transformer
transformer: tokens=words positions=at
transformer.features: tokens=words
lstm: tokens=words positions=at
lstm.features: tokens=words
Stack then logits: parameters=parameters
Stack then features: parameters=parameters
Stack then model: parameters=parameters
Stack.logits: tokens=values positions=places
Stack.features: tokens=values
Stack.model: row=row
stack_models: models=models
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(WRONG, RIGHT, KINDS)

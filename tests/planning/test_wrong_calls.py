"""Wrong arguments of this package that an annotation alone does not rule out."""

import numpy as np
import torch

from ntpcompanion import planning
from ntpcompanion.networks import ModelPlan, TransformerSize
from ntpcompanion.randomness import stream
from tests.mistakes import wrong_calls

TASK = planning.PathStar(arms=2, length=3, labels=6)
GRAPHS = planning.draw_graphs(TASK, 4, stream(0, "wrong calls"))
PREFIX, ANSWER = GRAPHS.prefix, GRAPHS.answer
FED = ANSWER[:, :-1]
SIZE = TransformerSize(8, 1, 1)
DECODER = planning.PauseDecoder(ModelPlan("transformer", 8, 1, 2, 16, words=6, positions=9), 0)
TOKENS = torch.tensor([[0, 1, 2], [3, 4, 5]])
OBJECTIVE = planning.Objective((1.0, 1.0, 1.0))
LONG_GRAPHS = planning.draw_graphs(planning.PathStar(2, 4, 8), 4, stream(0, "wrong calls"))


def model():
    return planning.build_planner(TASK, SIZE, 0)


def answering(found):
    """What gives this for log probabilities."""
    return lambda prefix, fed: found


AT_ONCE = {"steps": 1, "every": 1, "batch_size": 2, "learning_rate": 0.1, "seed": 0}
TRAINED = {"model": model, "held_out": [GRAPHS], "objectives": [OBJECTIVE], **AT_ONCE}
RIGHT = {
    "PathStar.symbol": (TASK.symbol, {}),
    "PauseDecoder.call": (DECODER, {"tokens": TOKENS}),
    "PauseDecoder.features": (DECODER.features, {"tokens": TOKENS, "positions": TOKENS[:, :1]}),
    "PauseDecoder.answer": (DECODER.answer, {"prefix": TOKENS, "pauses": 1}),
    "plan_path": (planning.plan_path, {"task": TASK, "prefix": PREFIX, "fed": FED}),
    "score_answers": (planning.score_answers, {"graphs": GRAPHS, "predict": lambda: None}),
    "Objective": (planning.Objective, {"weights": (1.0, 1.0)}),
    "network_predictor": (planning.network_predictor, {"model": model, "task": TASK}),
    "a predictor": (planning.network_predictor(model(), TASK), {"prefix": PREFIX, "fed": FED}),
    "train_planner": (planning.train_planner, TRAINED),
}
KINDS = {
    "task": (None, "task", {"arms": 2}, GRAPHS),
    "fixed": ([LONG_GRAPHS], [GRAPHS.take(np.arange(0))]),
    "objectives": ([planning.Objective((1.0,))], [OBJECTIVE, OBJECTIVE]),
    "weights": ((0.0, 0.0), (-1.0, 1.0)),
    "model": (planning.build_planner(planning.PathStar(2, 3, 5), SIZE, 0), DECODER),
    "answers": (
        *("f", 3, answering(None), answering(3.0), answering(np.zeros((4, 3)))),
        answering(np.zeros((4, 3, 5))),
        answering(torch.zeros(4, 3, 10)),
        answering(np.zeros((4, 3, 10), dtype=np.int64)),
    ),
    "prefixes": (None, "x", PREFIX / 2, PREFIX[0], PREFIX[:, :-1], PREFIX + 99, PREFIX - 99),
    "feds": (None, "x", FED / 2, FED[0], FED[:2], ANSWER, FED + 99, FED - 99),
    "pauses": (99,),
    "words": (None, TOKENS.numpy(), TOKENS / 2, TOKENS[0], TOKENS.byte(), TOKENS.to("meta")),
    "wide": (TOKENS.repeat(1, 4),),
    "at": ("x", TOKENS.numpy(), TOKENS / 2, TOKENS[:1]),
}
WRONG = """
PathStar.symbol: text=choice
PauseDecoder.call: tokens=words positions=at
PauseDecoder.features: tokens=wide
PauseDecoder.answer: pauses=pauses prefix=wide
plan_path: task=task
score_answers: predict=answers
Objective: weights=weights
network_predictor: model=model
a predictor: prefix=prefixes fed=feds
train_planner: model=model objectives=objectives fixed=fixed
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(WRONG, RIGHT, KINDS)

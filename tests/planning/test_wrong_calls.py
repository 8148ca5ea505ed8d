"""Every argument of the public names of this package, wrong in every way that a user may get it
wrong.
"""

import numpy as np
import torch

from ntpcompanion import planning
from ntpcompanion.networks import ModelPlan, TransformerSize, build_model
from ntpcompanion.planning.parity import parity_questions
from ntpcompanion.planning.pause_counts import vectors_per_layer
from ntpcompanion.planning.pause_training import train_with_pauses
from ntpcompanion.randomness import stream
from tests.mistakes import wrong_calls

TASK = planning.PathStar(arms=2, length=3, labels=6)
GRAPHS = planning.draw_graphs(TASK, 4, stream(0, "wrong calls"))
PREFIX, ANSWER = GRAPHS.prefix, GRAPHS.answer
FED = ANSWER[:, :-1]
SIZE = TransformerSize(8, 1, 1)
PLAN = ModelPlan("transformer", 8, 1, 2, 16, words=6, positions=9)
TOKENS = torch.tensor([[0, 1, 2], [3, 4, 5]])
LOGITS = torch.zeros(2, 3, 7)
OBJECTIVE = planning.Objective((1.0, 1.0, 1.0))


LONG = planning.PathStar(arms=2, length=4, labels=8)
LONG_GRAPHS = planning.draw_graphs(LONG, 4, stream(0, "wrong calls"))
QUESTIONS = parity_questions(2)
ASKING = ModelPlan("transformer", 8, 1, 1, 16, words=3, positions=6)
ASKED = torch.tensor(PREFIX), torch.tensor(FED)  # the same as tensors


def model():
    return planning.build_planner(TASK, SIZE, 0)


def predict(prefix, fed):
    return planning.follow_edges(TASK, prefix, fed)


def rng():
    return stream(0, "wrong calls")


def generator():
    return torch.Generator().manual_seed(0)


def decoder():
    return planning.PauseDecoder(ASKING, 0)


def answering(found):
    """What gives this for log probabilities."""
    return lambda prefix, fed: found


AT_ONCE = {"steps": 1, "every": 1, "batch_size": 2, "learning_rate": 0.1, "seed": 0}
RIGHT = {
    "PathStar": (planning.PathStar, {"arms": 2, "length": 3, "labels": 6}),
    "PathStar.symbol": (TASK.symbol, {}),
    "PathStar.text": (TASK.text, {}),
    "Graphs.path": (GRAPHS.path, {}),
    "Graphs.take": (GRAPHS.take, {}),
    "draw_graphs": (
        planning.draw_graphs,
        {"task": TASK, "count": 3, "rng": lambda: stream(0, "x")},
    ),
    "read_graphs": (planning.read_graphs, {"task": TASK, "prefix": PREFIX}),
    "PauseDecoder": (planning.PauseDecoder, {"plan": PLAN, "seed": 0}),
    "PauseDecoder.call": (planning.PauseDecoder(PLAN, 0), {"tokens": TOKENS}),
    "PauseDecoder.features": (
        planning.PauseDecoder(PLAN, 0).features,
        {"tokens": TOKENS, "positions": TOKENS[:, :1]},
    ),
    "PauseDecoder.answer": (planning.PauseDecoder(PLAN, 0).answer, {"prefix": TOKENS, "pauses": 1}),
    "append_pauses": (planning.append_pauses, {"tokens": TOKENS, "pauses": 1}),
    "insert_pauses": (
        planning.insert_pauses,
        {"tokens": TOKENS, "pauses": 1, "generator": generator},
    ),
    "pause_masked_loss": (planning.pause_masked_loss, {"logits": LOGITS, "tokens": TOKENS}),
    "follow_edges": (planning.follow_edges, {"task": TASK, "prefix": PREFIX, "fed": FED}),
    "plan_path": (planning.plan_path, {"task": TASK, "prefix": PREFIX, "fed": FED}),
    "look_back": (planning.look_back, {"task": TASK, "prefix": PREFIX, "hops": 1}),
    "cheat_loss": (planning.cheat_loss, {"arms": 2, "length": 3}),
    "score_answers": (planning.score_answers, {"graphs": GRAPHS, "predict": lambda: predict}),
    "decode_answers": (planning.decode_answers, {"graphs": GRAPHS, "predict": lambda: predict}),
    "score_wrong_arm": (
        planning.score_wrong_arm,
        {"graphs": LONG_GRAPHS, "predict": lambda: predict},
    ),
    "Objective": (planning.Objective, {"weights": (1.0, 1.0)}),
    "build_planner": (planning.build_planner, {"task": TASK, "size": SIZE, "seed": 0}),
    "answer_logits": (
        planning.answer_logits,
        {"model": lambda: model(), "task": TASK}
        | {"prefix": torch.tensor(PREFIX), "fed": torch.tensor(FED)},
    ),
    "answer_loss": (
        planning.answer_loss,
        {"model": lambda: model(), "graphs": GRAPHS, "objective": OBJECTIVE},
    ),
    "network_predictor": (planning.network_predictor, {"model": lambda: model(), "task": TASK}),
    "a predictor": (
        planning.network_predictor(model(), TASK),
        {"prefix": PREFIX, "fed": FED},
    ),
    "parity_questions": (parity_questions, {}),
    "accuracy": (QUESTIONS.accuracy, {}),
    "loss": (QUESTIONS.loss, {}),
    "vectors_per_layer": (
        vectors_per_layer,
        {"decoder": decoder, "tokens": QUESTIONS.prefixes},
    ),
    "train_with_pauses": (
        train_with_pauses,
        {"decoder": decoder, "questions": QUESTIONS, "pauses": 1, "eval_steps": [1]}
        | {"learning_rate": 0.1},
    ),
    "train_planner": (
        planning.train_planner,
        {"model": lambda: model(), "held_out": [GRAPHS], "objectives": [OBJECTIVE], **AT_ONCE},
    ),
}
KINDS = {
    "task": (None, "task", {"arms": 2}, GRAPHS),
    "graphs": (None, "graphs", TASK, PREFIX),
    "several": (None, "graphs", GRAPHS, [], [3], torch.tensor(3), iter([GRAPHS])),
    "fixed": (
        *("graphs", GRAPHS, [], [3], [None]),
        [planning.draw_graphs(LONG, 4, stream(0, "wrong calls"))],
        [GRAPHS.take(np.arange(0))],
    ),
    "objective": (None, "objective", (1.0, 1.0, 1.0), 3),
    "objectives": (
        *(None, "objective", OBJECTIVE, [], [1.0]),
        [planning.Objective((1.0,))],
        [OBJECTIVE, OBJECTIVE],
    ),
    "weights": (None, "ab", 1.0, (), (0.0, 0.0), (-1.0, 1.0), (np.nan, 1.0), ("a", "b")),
    "model": (
        *(None, "model", SIZE, torch.nn.Linear(2, 2)),
        build_model(model().plan, 0),
        build_model(ModelPlan("lstm", 8, 1, words=10, positions=14), 0),
        planning.build_planner(planning.PathStar(2, 3, 5), SIZE, 0),
        planning.PauseDecoder(PLAN, 0),
    ),
    "bare": (None, "model", SIZE, torch.nn.Linear(2, 2), build_model(model().plan, 0)),
    "predictor": (None, "f", 3, model()),
    "answers": (
        *("f", 3, model(), answering(None), answering(3.0), answering(np.zeros((4, 3)))),
        answering(np.zeros((4, 2, 10))),
        answering(np.zeros((4, 3, 5))),
        answering(torch.zeros(4, 3, 10)),
        answering(np.zeros((4, 3, 10), dtype=np.int64)),
    ),
    "prefixes": (None, "x", PREFIX / 2, PREFIX[0], PREFIX[:, :-1], PREFIX + 99, PREFIX - 99),
    "feds": (None, "x", FED / 2, FED[0], FED[:2], ANSWER, FED + 99, FED - 99),
    "bits": ("2", 1.5, None, True, 0, 17),
    "parities": (
        None,
        "x",
        np.zeros((4, 3)),
        torch.zeros(4),
        torch.zeros(3, 3),
        torch.zeros(4, 1),
        torch.zeros(4, 3).long(),
    ),
    "decoder": (None, "decoder", ASKING, model(), torch.nn.Linear(2, 2)),
    "bit_tokens": (
        None,
        "x",
        QUESTIONS.prefixes.numpy(),
        QUESTIONS.prefixes / 2,
        QUESTIONS.prefixes + 1,
        QUESTIONS.prefixes - 9,
        QUESTIONS.prefixes.to("meta"),
    ),
    "questions_of_parity": (None, "x", QUESTIONS.prefixes, GRAPHS),
    "pauses": ("3", 2.5, True, -1, np.nan, None, 99),
    "eval_steps": (None, 3, "ab", b"ab", 1.5, [], [0.5], [-1], ["a"]),
    "rate": ("x", np.nan, True, -1.0, 0, None, np.ones(2), np.inf),
    "targets": (TOKENS + 9, TOKENS - 9, TOKENS.int(), TOKENS.to("meta"), TOKENS * 0 - 3),
    "transformer": (None, "size", 8, PLAN),
    "attends": (None, "plan", SIZE, 3, ModelPlan("lstm", 8, 1, words=6, positions=4)),
    "seed": ("x", 1.5, True, None, -1, np.nan, np.int64(3), torch.tensor(3), 2**64),
    "any_seed": ("x", 1.5, True, None, -1, np.nan),
    "device": ("gpu", 3.5, None, "cuda:99"),
    "flag": ("yes", 1, None),
    "prefix": (None, "x", PREFIX / 2, PREFIX[0], PREFIX[:, :-1]),
    "fed": (None, "x", FED / 2, FED[0], FED[:2], ANSWER),
    "questions": (
        None,
        "x",
        PREFIX,
        ASKED[0] / 2,
        ASKED[0][0],
        ASKED[0][:, 1:],
        ASKED[0].to("meta"),
        ASKED[0].byte(),
    ),
    "given": (
        None,
        "x",
        FED,
        ASKED[1] / 2,
        ASKED[1][:2],
        ASKED[1][:, 1:],
        ASKED[1].to("meta"),
        torch.tensor(ANSWER),
    ),
    "words": (None, "x", TOKENS.numpy(), TOKENS / 2, TOKENS[0], TOKENS.byte()),
    "elsewhere": (TOKENS.to("meta"), TOKENS.to_sparse()),
    "logits": (None, "x", LOGITS.numpy(), LOGITS[0], LOGITS.long()),
    "wide": (TOKENS.repeat(1, 4),),
    "at": ("x", 3, TOKENS.numpy(), TOKENS / 2, TOKENS[:1]),
    "arm": ("x", 1.5, None, -1, 2, True, [0, 1], np.arange(1)),
    "wrong_arm": ("x", 1.5, None, True, 0, 2),
    "hops": ("x", 1.5, None, True, -1),
    "rows": (None, "x", 0, [0.5], [9], [-1], [[0]], [True, False]),
    "path": (None, "x", 3, [0.5, 1.5], [99], [-1], PREFIX),
}
WRONG = """
PathStar: arms=two length=two labels=size query=choice separators=flag reversed=flag
PathStar.symbol: text=choice
PathStar.text: tokens=path
Graphs.path: arm=arm
Graphs.take: rows=rows
draw_graphs: task=task count=size rng=rng
read_graphs: task=task prefix=prefix
PauseDecoder: plan=attends seed=seed deviation=positive
PauseDecoder.call: tokens=words positions=at
PauseDecoder.call: tokens=elsewhere
PauseDecoder.features: tokens=words positions=at
PauseDecoder.features: tokens=wide
PauseDecoder.answer: prefix=words pauses=pauses
PauseDecoder.answer: prefix=elsewhere
PauseDecoder.answer: prefix=wide
append_pauses: tokens=words pauses=integer
insert_pauses: tokens=words pauses=integer generator=generator
pause_masked_loss: logits=logits tokens=words
pause_masked_loss: tokens=targets
follow_edges: task=task prefix=prefix fed=fed
plan_path: task=task prefix=prefix
look_back: task=task prefix=prefix hops=hops
cheat_loss: arms=two length=two
score_answers: graphs=graphs predict=answers
decode_answers: graphs=graphs predict=predictor
score_wrong_arm: graphs=graphs predict=predictor arm=wrong_arm
Objective: weights=weights teacherless=flag
build_planner: task=task size=transformer seed=seed device=device deviation=positive
a predictor: prefix=prefixes fed=feds
parity_questions: bits=bits
accuracy: logits=parities
loss: logits=parities
vectors_per_layer: decoder=decoder tokens=bit_tokens
train_with_pauses: decoder=decoder questions=questions_of_parity pauses=pauses eval_steps=eval_steps
train_with_pauses: learning_rate=rate
answer_logits: model=model task=task prefix=questions fed=given
answer_loss: model=model graphs=graphs objective=objective
network_predictor: model=model task=task teacherless=flag batch=size
train_planner: model=model held_out=several objectives=objectives steps=size every=size
train_planner: batch_size=size learning_rate=positive seed=any_seed fixed=fixed
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(WRONG, RIGHT, KINDS)

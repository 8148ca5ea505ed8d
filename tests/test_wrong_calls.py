"""Every argument of the public names, wrong in every way that a user may get it wrong."""

import numpy as np
import torch

from ntpcompanion import languages as la
from ntpcompanion import linear as li
from ntpcompanion.linear.thresholds.threshold import statistical_dimension
from tests.mistakes import wrong_calls


def rng():
    return np.random.default_rng(0)


TABLE = li.ContextTable.random(4, 3, 1, 6, rng())
W = np.ones((3, 6))
TOKENS = np.array([0, 1, 2, 0, 1, 2, 0, 1])
HMM = la.random_block_hmm(rng(), states=2, vocab=4, length=2, blocks=2)
GRAMMAR = la.random_levelled_pcfg(rng(), symbols=6, vocab=8, depth=3, pairs=2, words=3)
DESCENT = {"optimizer": "adam", "learning_rate": 0.1, "steps": 3, "keep": 2, "rng": rng}
BLOCKS = {"rng": rng, "states": 2, "vocab": 4, "length": 2, "blocks": 2}
LEVELS = {"rng": rng, "symbols": 6, "vocab": 8, "depth": 3, "pairs": 2, "words": 3}
ROWS = {"sequences": [[0, 1, 2]], "states": np.ones((1, 2, 3)), "vocab_size": 3}
STATES = {"tokens": [[0, 1]], "vocab_size": 3, "dim": 2, "rng": rng}
FLOOR = {"language": HMM, "sentences": 4, "generator": torch.Generator}
SPAN = {"grammar": GRAMMAR, "tokens": torch.zeros((1, 1), dtype=torch.int64)}

RIGHT = {
    "ContextTable": (
        li.ContextTable,
        {"embeddings": np.ones((2, 2)), "next_token": np.eye(2), "weight": [0.5, 0.5]},
    ),
    "random": (
        li.ContextTable.random,
        {"num_contexts": 4, "vocab_size": 3, "support_size": 1, "dim": 2, "rng": rng},
    ),
    "DecomposedLoss": (li.DecomposedLoss, {"table": TABLE}),
    "certified_gap": (li.certified_gap, {"table": TABLE, "dual": np.ones((4, 3))}),
    "check_compatibility": (li.check_compatibility, {"table": TABLE}),
    "check_separability": (li.check_separability, {"table": TABLE}),
    "constraint_pairs": (li.constraint_pairs, {"table": TABLE}),
    "cosine_distance": (li.cosine_distance, {"weights": W[None], "direction": W}),
    "descend": (li.descend, {"table": TABLE, **DESCENT}),
    "excess_bound": (li.excess_bound, {"table": TABLE, "finite_part": W, "gamma": 1.0}),
    "flatten_sequences": (li.flatten_sequences, ROWS),
    "gradient_flow": (li.gradient_flow, {"table": TABLE, "log_times": [0.0, 1.0]}),
    "measure_alignment": (li.measure_alignment, {"table": TABLE, "weights": W[None], "w_mm": W}),
    "predicted_threshold": (li.predicted_threshold, {"vocab_size": 4, "support_size": 2}),
    "project_onto_F": (li.project_onto_F, {"table": TABLE, "W": W}),
    "recurrent_states": (li.recurrent_states, STATES),
    "regularization_path": (li.regularization_path, {"table": TABLE, "radii": [1.0, 2.0]}),
    "solve_ntp_svm": (li.solve_ntp_svm, {"table": TABLE}),
    "statistical_dimension": (statistical_dimension, {"vocab_size": 4, "support_size": 2}),
    "step_bound": (li.step_bound, {"table": TABLE}),
    "count_contexts": (la.count_contexts, {"tokens": TOKENS, "vocab_size": 3, "lengths": [0, 1]}),
    "draw_derivation": (la.draw_derivation, {"grammar": GRAMMAR, "rng": rng, "max_words": 8}),
    "encode": (la.encode, {"words": ["a", "b"], "vocab_size": 2}),
    "estimate_entropy_floor": (la.estimate_entropy_floor, FLOOR),
    "exact_entropy_floor": (la.exact_entropy_floor, {"language": HMM, "lengths": [2]}),
    "load_opt": (la.load_opt, {"source": "/nowhere"}),
    "random_block_hmm": (la.random_block_hmm, BLOCKS),
    "random_levelled_pcfg": (la.random_levelled_pcfg, LEVELS),
    "read_text": (la.read_text, {"text": "pydoc_data.topics"}),
    "span_labels": (la.span_labels, {**SPAN, "words": 1, "by": "posterior"}),
    "split_text": (la.split_text, {"text": "a b", "tokenizer": "words"}),
    "WordModel": (la.WordModel, {"model": None, "words": [0, 1], "bos": 0}),
}
WRONG = """
ContextTable: embeddings=matrix next_token=matrix weight=vector
random: num_contexts=size vocab_size=size support_size=size dim=size rng=rng
DecomposedLoss: table=table
certified_gap: table=table dual=matrix
check_compatibility: table=table max_iterations=size
check_separability: table=table max_iterations=size callback=function
constraint_pairs: table=table
cosine_distance: weights=matrix
descend: table=table optimizer=choice learning_rate=positive steps=size rng=rng epsilon=positive
descend: start=start betas=pair
excess_bound: table=table finite_part=matrix gamma=number
flatten_sequences: sequences=text states=matrix vocab_size=size
gradient_flow: table=table log_times=vector start=start tol=positive
measure_alignment: table=table weights=matrix w_mm=matrix
predicted_threshold: vocab_size=size support_size=size
project_onto_F: table=table W=matrix max_iterations=size
recurrent_states: tokens=tokens vocab_size=size dim=size rng=rng
regularization_path: table=table radii=vector
solve_ntp_svm: table=table tol=positive method=choice norm=choice dtype=dtype device=device
solve_ntp_svm: callback=function
statistical_dimension: vocab_size=size support_size=size
step_bound: table=table
count_contexts: tokens=tokens vocab_size=size
draw_derivation: grammar=table rng=rng max_words=size
encode: vocab_size=size words=function
estimate_entropy_floor: language=table sentences=size generator=generator device=device
estimate_entropy_floor: batch=size
exact_entropy_floor: language=table
load_opt: source=text
random_block_hmm: rng=rng states=size vocab=size length=size blocks=size
random_block_hmm: transition_concentration=positive emission_concentration=positive
random_levelled_pcfg: rng=rng symbols=size vocab=size depth=size pairs=size
random_levelled_pcfg: words=size stop=number
read_text: text=text
span_labels: grammar=table tokens=tokens by=choice
split_text: text=text
WordModel: model=table
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(WRONG, RIGHT)

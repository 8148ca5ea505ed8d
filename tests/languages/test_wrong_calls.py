"""Arguments of the languages themselves, and of what makes them from files, wrong in every way that
a user may get them wrong; the functions of the package are in tests/test_wrong_calls.py.
"""

import numpy as np
import torch

from ntpcompanion import languages
from ntpcompanion.languages.enumeration import sentence_table
from ntpcompanion.languages.random_hmms import random_hmm
from ntpcompanion.mlm.data.language_plans import HMMPlan
from tests.languages.opt import small_opt
from tests.mistakes import wrong_calls

PLAN = HMMPlan(2, 4, 2, 2)
HMM = PLAN.build()
GRAMMAR = languages.PCFG(
    torch.tensor([1.0, 0.0], dtype=torch.float64),
    torch.tensor([[[0, 0], [0, 0.4]], [[0, 0], [0, 0]]], dtype=torch.float64),
    torch.tensor([[0.6, 0], [0.5, 0.5]], dtype=torch.float64),
)
TABLES = {"initial": [0.5, 0.5], "transition": np.eye(2), "emission": np.eye(2), "length": 2}
RULES = {"root": GRAMMAR.root, "binary": GRAMMAR.binary, "lexical": GRAMMAR.lexical}
DRAW = {"n": 2, "generator": torch.Generator}
TOKENS = torch.zeros((2, 2), dtype=torch.int64)


def rng():
    return np.random.default_rng(0)


def model():
    return small_opt()


def causal():
    return languages.CausalLanguage(model(), [3, 4], 2, 3)


RIGHT = {
    "HMM": (languages.HMM, TABLES),
    "HMM.sample": (HMM.sample, DRAW),
    "HMM.to": (HMM.to, {"device": "cpu"}),
    "HMM.log_prob": (HMM.log_prob, {"tokens": TOKENS}),
    "HMM.masked_conditional": (HMM.masked_conditional, {"tokens": TOKENS}),
    "HMM.latent_posterior": (HMM.latent_posterior, {"tokens": TOKENS}),
    "random_hmm": (random_hmm, {"rng": rng, "states": 2, "vocab": 3, "length": 2}),
    "PCFG": (languages.PCFG, RULES),
    "PCFG.sample": (GRAMMAR.sample, DRAW),
    "PCFG.to": (GRAMMAR.to, {"device": "cpu"}),
    "PCFG.log_inside": (GRAMMAR.log_inside, {"tokens": TOKENS}),
    "PCFG.latent_posterior": (GRAMMAR.latent_posterior, {"tokens": TOKENS}),
    "PCFG.length_distribution": (GRAMMAR.length_distribution, {"max_length": 3}),
    "CausalLanguage": (
        languages.CausalLanguage,
        {"model": lambda: model(), "words": [3, 4], "bos": 2, "length": 3},
    ),
    "CausalLanguage.sample": (lambda **given: causal().sample(**given), DRAW),
    "CausalLanguage.log_prob": (lambda **given: causal().log_prob(**given), {"tokens": TOKENS}),
    "WordModel": (languages.WordModel, {"model": lambda: model(), "words": [3, 4], "bos": 2}),
    "estimate_entropy_floor": (
        languages.estimate_entropy_floor,
        {"language": HMM, "sentences": 4, "generator": torch.Generator},
    ),
    "exact_entropy_floor": (languages.exact_entropy_floor, {"language": HMM, "lengths": [2]}),
    "sentence_table": (sentence_table, {"language": HMM, "length": 2}),
    "span_labels": (
        languages.span_labels,
        {"grammar": GRAMMAR, "tokens": TOKENS[:, :1], "words": 1, "by": "posterior"},
    ),
    "draw_derivation": (languages.draw_derivation, {"grammar": GRAMMAR, "rng": rng}),
    "load_opt": (languages.load_opt, {"source": "/nowhere"}),
}
KINDS = {
    "language": (None, "hmm-4", PLAN, np.eye(2)),
    "plan": (None, PLAN, "grammar", HMM),
    "lengths": (2, None, "x", [], [0], [-1], [2.0], [[2]], np.nan),
    "spans": ("x", 0, -1, 2.5, True, 9),
    "distribution": ("x", None, [], [0.5, 0.6], [1.5, -0.5], [[1.0]], [np.nan, 1.0]),
    "rows": (
        *("x", None, [], [0.5, 0.5], [[0.5, 0.6], [1, 0]], np.ones((3, 2))),
        *([[1.5, -0.5], [1, 0]], [[np.nan, 1], [1, 0]]),
    ),
    "sentences": (
        None,
        "x",
        [[0, 0]],
        np.zeros((1, 2), int),
        TOKENS.double(),
        TOKENS[0],
        TOKENS + 9,
    ),
    "seed": ("x", 1.5, True, None, -1, np.nan),
    "flag": ("yes", 1, None),
    "words": (None, "ab", [], [3, 3], [3, 99], [3.5], [[3, 4]], True),
    "opt_words": (None, "ab", 2.5, True),
    "token": ("x", None, 2.5, -1, 99, True),
    "last": ("x", 2.5, -1, 99, True, 3),
    "longest": ("x", None, 2.5, 0, -1, 99, True),
}
WRONG = """
HMM: initial=distribution transition=rows emission=rows length=size
HMM.sample: n=integer generator=generator device=device
HMM.to: device=device
HMM.log_prob: tokens=sentences
HMM.masked_conditional: tokens=sentences
HMM.latent_posterior: tokens=sentences
random_hmm: rng=rng states=size vocab=size length=size
PCFG: root=distribution binary=rows lexical=rows
PCFG.sample: n=integer generator=generator device=device max_length=size_or_none
PCFG.to: device=device
PCFG.log_inside: tokens=sentences
PCFG.latent_posterior: tokens=sentences
PCFG.length_distribution: max_length=size
CausalLanguage: model=language words=words bos=token length=longest end=last chunk=size
CausalLanguage.sample: n=integer generator=generator device=device
CausalLanguage.log_prob: tokens=sentences
WordModel: model=language words=words bos=token end=last
estimate_entropy_floor: language=language sentences=size generator=generator device=device
estimate_entropy_floor: batch=size
exact_entropy_floor: language=language lengths=lengths
sentence_table: language=language length=size
span_labels: grammar=plan tokens=sentences words=spans by=choice
draw_derivation: grammar=plan rng=rng max_words=size
load_opt: source=text words=opt_words length=size ends=flag sentences=size seed=seed dtype=dtype
load_opt: device=device chunk=size
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(WRONG, RIGHT, KINDS)

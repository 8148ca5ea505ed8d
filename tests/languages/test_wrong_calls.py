"""Wrong arguments of this package that an annotation alone does not rule out, in methods of
languages and in what makes them.
"""

import numpy as np
import torch

from ntpcompanion import languages
from ntpcompanion.mlm.data.language_plans import HMMPlan
from tests.languages.opt import small_opt
from tests.mistakes import wrong_calls

HMM = HMMPlan(2, 4, 2, 2).build()
GRAMMAR = languages.PCFG(
    torch.tensor([1.0, 0.0], dtype=torch.float64),
    torch.tensor([[[0, 0], [0, 0.4]], [[0, 0], [0, 0]]], dtype=torch.float64),
    torch.tensor([[0.6, 0], [0.5, 0.5]], dtype=torch.float64),
)
TABLES = {"initial": [0.5, 0.5], "transition": np.eye(2), "emission": np.eye(2), "length": 2}
RULES = {"root": GRAMMAR.root, "binary": GRAMMAR.binary, "lexical": GRAMMAR.lexical}
TOKENS = torch.zeros((2, 2), dtype=torch.int64)
SPANS = {"grammar": GRAMMAR, "tokens": TOKENS[:, :1], "words": 1, "by": "posterior"}


def model():
    return small_opt()


def causal():
    return languages.CausalLanguage(model(), [3, 4], 2, 3)


RIGHT = {
    "HMM": (languages.HMM, TABLES),
    "HMM.sample": (HMM.sample, {"n": 2, "generator": torch.Generator}),
    "HMM.log_prob": (HMM.log_prob, {}),
    "HMM.masked_conditional": (HMM.masked_conditional, {}),
    "HMM.latent_posterior": (HMM.latent_posterior, {}),
    "PCFG": (languages.PCFG, RULES),
    "PCFG.log_inside": (GRAMMAR.log_inside, {}),
    "PCFG.latent_posterior": (GRAMMAR.latent_posterior, {}),
    "CausalLanguage": (
        languages.CausalLanguage,
        {"model": model, "words": [3, 4], "bos": 2, "length": 3},
    ),
    "CausalLanguage.log_prob": (lambda **given: causal().log_prob(**given), {}),
    "WordModel": (languages.WordModel, {"model": model, "words": [3, 4], "bos": 2}),
    "span_labels": (languages.span_labels, SPANS),
}
KINDS = {
    "language": (None, "hmm-4", np.eye(2)),
    "spans": (9,),
    "distribution": ("x", None, [], [0.5, 0.6], [1.5, -0.5], [[1.0]], [np.nan, 1.0]),
    "rows": (
        *("x", None, [], [0.5, 0.5], [[0.5, 0.6], [1, 0]], np.ones((3, 2))),
        *([[1.5, -0.5], [1, 0]], [[np.nan, 1], [1, 0]]),
    ),
    "sentences": (None, "x", np.zeros((1, 2), int), TOKENS.double(), TOKENS[0], TOKENS + 9),
    "words": (None, "ab", [], [3, 3], [3, 99], [3.5], [[3, 4]], True),
    "token": ("x", None, 2.5, -1, 99, True),
    "last": ("x", 2.5, -1, 99, True, 3),
    "longest": ("x", None, 2.5, 0, -1, 99, True),
}
WRONG = """
HMM: initial=distribution transition=rows emission=rows length=size
HMM.sample: n=integer generator=generator device=device
HMM.log_prob: tokens=sentences
HMM.masked_conditional: tokens=sentences
HMM.latent_posterior: tokens=sentences
PCFG: root=distribution binary=rows lexical=rows
PCFG.log_inside: tokens=sentences
PCFG.latent_posterior: tokens=sentences
CausalLanguage: words=words bos=token length=longest end=last
CausalLanguage.log_prob: tokens=sentences
WordModel: model=language words=words bos=token end=last
span_labels: tokens=sentences words=spans
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(WRONG, RIGHT, KINDS)

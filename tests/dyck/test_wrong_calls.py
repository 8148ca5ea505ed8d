"""Wrong arguments of this package that an annotation alone does not rule out."""

from fractions import Fraction

import numpy as np

from ntpcompanion.dyck.bracket_counting import expected_error, success_probability
from ntpcompanion.dyck.bracket_transformer import predict
from ntpcompanion.dyck.sentences import (
    balanced_sentences,
    downstream_strings,
    dyck_sentences,
    mask_each,
    masked_support,
)
from ntpcompanion.dyck.single_condition import two_values
from ntpcompanion.dyck.single_valued import single_valued_neurons
from ntpcompanion.dyck.solutions import memoriser, random_features, transferable, with_dead_neuron
from tests.mistakes import wrong_calls

RIGHT = {
    "balanced_sentences": (balanced_sentences, {}),
    "downstream_strings": (downstream_strings, {}),
    "dyck_sentences": (dyck_sentences, {}),
    "memoriser": (memoriser, {}),
    "single_valued_neurons": (single_valued_neurons, {}),
    "predict": (predict, {"parameters": transferable(4)}),
    "expected_error": (expected_error, {"T": 4, "n": 1}),
    "success_probability": (success_probability, {"T": 4, "n": 1}),
    "masked_support": (masked_support, {"T": 4, "mask_sign": "random"}),
    "mask_each": (mask_each, {"mask_sign": "fixed"}),
    "two_values": (two_values, {"T": 4}),
    "with_dead_neuron": (with_dead_neuron, {"T": 4}),
    "random_features": (random_features, {"width": 50, "rng": np.random.default_rng(0)}),
}
KINDS = {
    "even": ("4", 2.5, True, None, 5, 1, 0, -2),
    "long": (14, 5),
    "pairs_to_swap": (2, 14),
    "inputs": (None, masked_support(6, "random")[0], np.ones((2, 4))),
    "sentences": (np.ones((2, 4), dtype=int), np.eye(4)),
    "alpha": (np.zeros(4, dtype=int), np.ones(3, dtype=int)),
    "spread": (None, Fraction(1), Fraction(-1), 0.5),
}
WRONG = """
balanced_sentences: T=long
downstream_strings: T=long
dyck_sentences: T=even
memoriser: T=even
single_valued_neurons: T=pairs_to_swap
predict: inputs=inputs
expected_error: T=even n=integer
success_probability: T=even n=integer
masked_support: T=long mask_sign=choice
mask_each: sentences=sentences
two_values: spread=spread
with_dead_neuron: alpha=alpha
random_features: T=long
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(WRONG, RIGHT, KINDS)

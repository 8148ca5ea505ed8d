"""Every argument of the public names of this package, wrong in every way that a user may get it
wrong.
"""

from fractions import Fraction

import numpy as np

from ntpcompanion.dyck.balance import wide_limits
from ntpcompanion.dyck.bound import lower_bound
from ntpcompanion.dyck.bracket_counting import (
    balanced_fraction,
    expected_error,
    learning_curve,
    success_probability,
)
from ntpcompanion.dyck.bracket_transformer import Parameters, predict
from ntpcompanion.dyck.minimizer_path import (
    follow_label_noise,
    follow_regularized_adam,
    follow_trace_flow,
)
from ntpcompanion.dyck.neurons import Neurons
from ntpcompanion.dyck.sentences import (
    balanced_sentences,
    circulant,
    downstream_strings,
    dyck_sentences,
    mask_each,
    masked_support,
)
from ntpcompanion.dyck.single_condition import first_position_attention, two_values
from ntpcompanion.dyck.single_valued import single_valued_neurons
from ntpcompanion.dyck.solutions import (
    random_features,
    three_neurons,
    tilted_attention,
    transferable,
    with_dead_neuron,
)
from ntpcompanion.dyck.stein import single_neuron_variance, stein_features
from ntpcompanion.dyck.wide_features import arc_cosine_kernel, limiting_error, wide_learning_curve
from tests.mistakes import wrong_calls


def rng():
    return np.random.default_rng(0)


START = transferable(4)
FLOW = {"start": START, "horizon": 1.0}
NOISE = {"start": START, "learning_rate": 0.1, "steps": 2, "rng": rng, "label_noise": 0.0}
CURVE = {"sizes": [1], "draws": 2, "rng": rng}
NEURONS = {"directions": np.ones((1, 8), dtype=int), "numerators": np.ones(1, dtype=int)}
OF_T = (
    *(wide_limits, lower_bound, balanced_fraction, balanced_sentences, dyck_sentences),
    *(downstream_strings, circulant, single_valued_neurons, transferable),
    *(single_neuron_variance, arc_cosine_kernel),
)
RIGHT = {
    **{function.__name__: (function, {}) for function in OF_T},
    "Parameters": (Parameters, vars(START)),
    "predict": (predict, {"parameters": START, "inputs": masked_support(4, "random")[0]}),
    "Neurons": (Neurons, NEURONS),
    "expected_error": (expected_error, {"T": 4, "n": 1}),
    "success_probability": (success_probability, {"T": 4, "n": 1}),
    "learning_curve": (learning_curve, {"parameters": START, **CURVE}),
    "follow_trace_flow": (follow_trace_flow, FLOW),
    "follow_label_noise": (follow_label_noise, NOISE),
    "follow_regularized_adam": (
        follow_regularized_adam,
        {"start": START, "learning_rate": 0.1, "steps": 1},
    ),
    "masked_support": (masked_support, {"T": 4, "mask_sign": "random"}),
    "mask_each": (mask_each, {"sentences": balanced_sentences(4), "mask_sign": "fixed"}),
    "two_values": (two_values, {"T": 4, "spread": Fraction(1, 2)}),
    "first_position_attention": (first_position_attention, {"T": 4, "weight": 0.5}),
    "three_neurons": (three_neurons, {"T": 4, "mask_sign": "fixed"}),
    "with_dead_neuron": (with_dead_neuron, {"T": 4, "alpha": np.arange(4)}),
    "tilted_attention": (tilted_attention, {"T": 4, "tilt": 0.5}),
    "random_features": (random_features, {"T": 4, "width": 50, "rng": rng}),
    "stein_features": (stein_features, {"T": 4, "width": 5, "rng": rng}),
    "wide_learning_curve": (wide_learning_curve, {"T": 4, **CURVE}),
    "limiting_error": (limiting_error, {}),
}
KINDS = {
    "even": ("4", 2.5, True, np.nan, None, 5, 1, 0, -2),
    "long": (14,),
    "pairs_to_swap": (2, 14),
    "rows": ("x", None, np.eye(2), np.full((8, 8), np.nan), np.ones(8)),
    "no_rows": ("x", None, np.empty((0, 8)), np.full((2, 8), np.nan), np.ones(8)),
    "head": (["a", "b"], None, [1.0, np.nan], np.zeros(3), np.eye(2)),
    "inputs": ("x", None, masked_support(6, "random")[0], np.ones((2, 4)), np.eye(4) * np.nan),
    "directions": ("x", None, np.zeros((0, 8), dtype=int), np.ones((1, 8)), np.ones(8, dtype=int)),
    "sentences": ("x", None, np.ones((2, 4), dtype=int), np.eye(4), np.ones(4, dtype=int)),
    "alpha": ("x", None, np.zeros(4, dtype=int), np.ones(3, dtype=int), np.ones(4)),
    "sizes": (None, 3, "ab", [], [0, 1], [1.5]),
    "spread": ("x", None, Fraction(1), Fraction(-1), 0.5),
    "between": ("x", None, np.nan, True, 0.0, 1.0),
    "finite": ("x", None, np.nan, np.inf, True),
    "at_least_0": ("x", None, np.nan, True, -0.1),
}
LENGTHS = "\n".join(f"{function.__name__}: T=even" for function in OF_T)
WRONG = """
Parameters: W_Q=rows W_K=rows W_V=no_rows u=head
predict: inputs=inputs
Neurons: directions=directions denominator=size
expected_error: T=even n=integer
success_probability: T=even n=integer
learning_curve: sizes=sizes draws=two rng=rng
follow_trace_flow: horizon=positive rate=positive snapshots=two mask_sign=choice
follow_label_noise: learning_rate=positive steps=size rng=rng label_noise=at_least_0
follow_label_noise: batch_size=size snapshots=two mask_sign=choice
follow_regularized_adam: learning_rate=positive steps=size penalty=positive mask_sign=choice
balanced_sentences: T=long
downstream_strings: T=long
masked_support: T=long mask_sign=choice
mask_each: sentences=sentences mask_sign=choice
two_values: T=even spread=spread
first_position_attention: T=even weight=between
single_valued_neurons: T=pairs_to_swap
three_neurons: T=even mask_sign=choice
with_dead_neuron: alpha=alpha
tilted_attention: T=even tilt=finite
random_features: T=long width=size rng=rng mask_sign=choice
stein_features: T=even width=size rng=rng
wide_learning_curve: T=even sizes=sizes draws=two rng=rng
limiting_error: strings_per_position=positive
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(LENGTHS + WRONG, RIGHT, KINDS)

"""Zero-loss solutions that violate exactly one of the conditions under which the bound of Lemma D.1
is attained.
"""

from fractions import Fraction

import numpy as np

from ntpcompanion.checks import Probability, checked
from ntpcompanion.dyck.balance import balance_neurons
from ntpcompanion.dyck.bracket_transformer import Parameters
from ntpcompanion.dyck.neurons import Neurons
from ntpcompanion.dyck.sentences import Even, Short, masked_support


@checked
def two_values(T: Even, spread: Fraction) -> Neurons:
    """Condition (3) alone fails: neurons (1 ± a e_1; 0) with coefficients 1/2, whose values are 1 ±
    a where the first bracket is visible, and −(1; 0), a = `spread`. The trace is (1 + (r₊ +
    r₋)/2)/2 times the bound, r±² = 1 ± 2a/T + a² (T − 1)/T. Raises ValueError for an odd T, or a
    spread that is no fraction in [0, 1).
    """
    if not 0 <= spread < 1:
        raise ValueError(f"`spread` must be at least 0 and below 1, got {spread}.")
    p, q = spread.as_integer_ratio()
    ones, first = np.ones(T, dtype=np.int64), np.eye(1, T, dtype=np.int64)[0]
    brackets = np.array([q * ones + p * first, q * ones - p * first, -q * ones])
    return Neurons(np.hstack([brackets, 0 * brackets]), np.array([1, 1, -2]), 2 * q)


@checked
def mask_as_bias(T: Even) -> Neurons:
    """Condition (4) alone fails: neurons (0; 1) and (0; −1) with coefficient 1, of which the mask
    turns on one, act as a bias for −(1; 0) with coefficient −2: f = 1 − 2 σ(−f*). The trace is
    twice the bound. Raises ValueError for an odd T.
    """
    ones, none = np.ones(T, dtype=np.int64), np.zeros(T, dtype=np.int64)
    directions = np.array([np.r_[none, ones], np.r_[none, -ones], np.r_[-ones, none]])
    return Neurons(directions, np.array([1, 1, -2]))


@checked
def first_position_attention(T: Short, weight: Probability) -> Parameters:
    """Condition (5) alone fails: the first position has attention p, every other one (1 − p)/(T −
    1), and two neurons ±(1/p, (T − 1)/(1 − p), …; 0) undo that. (9) alone costs the factor √(T (p²
    + (1 − p)²/(T − 1))); gradients in W_Q and W_K, which (6) drops, are not zero. Raises ValueError
    for an odd T, one out of range, or a weight that is not between 0 and 1.
    """
    inputs = masked_support(T, "random")[0]
    logit = np.log(weight * (T - 1) / (1 - weight))
    itself = np.diag(np.eye(1, 2 * T)[0] + np.eye(1, 2 * T, T)[0])
    v = np.repeat([(T - 1) / (1 - weight), 0.0], T)
    v[0] = 1 / weight
    size = np.sqrt(np.abs(logit))
    attention = np.sign(logit) * size * itself, size * itself
    start = Parameters(*attention, np.outer([1.0, -1.0], v), np.array([1.0, -1.0]))
    return balance_neurons(start, inputs)

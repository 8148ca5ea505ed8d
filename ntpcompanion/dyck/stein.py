"""Theorem D.6 with explicit constants: random features whose output weights are set by Stein's
identity, and not by a fit.
"""

import numpy as np

from ntpcompanion.checks import Size, checked
from ntpcompanion.dyck.bracket_transformer import Parameters, uniform_attention
from ntpcompanion.dyck.sentences import Even


@checked
def stein_features(T: Even, width: Size, rng: np.random.Generator) -> Parameters:
    """Neurons w_j ~ N(0, I_{2T}), u_j = (2T/m) b·w_j with b = (1_T; 0): by Stein's identity f is an
    average of m independent terms with mean f* under uniform attention. The mean loss is (2T² +
    3)/m, see `single_neuron_variance`. Raises ValueError for an odd T, no neurons.
    """
    rows = rng.standard_normal((width, 2 * T))
    return uniform_attention(rows, 2 * T / width * rows[:, :T].sum(1))


@checked
def single_neuron_variance(T: Even) -> int:
    """The variance of 2 (b·w) σ(w·z) on any masked input, for w ~ N(0, I_{2T}): 2T² + 3.

    The second moment is 4 E[(b·w)² σ(w·z)²] = 2 E[(b·w)² (w·z)²], by the symmetry of w, and this is
    2 (‖b‖² ‖z‖² + 2 (b·z)²) = 2T² + 4, because ‖b‖² = ‖z‖² = T and b·z = f* = ±1. The squared mean
    is 1. ValueError for an odd T.
    """
    return 2 * T**2 + 3

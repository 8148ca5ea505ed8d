"""Theorem D.6 with explicit constants: random features whose output weights are set by Stein's
identity, and not by a fit.
"""

import numpy as np

from ntpcompanion.checks import Size, checked
from ntpcompanion.dyck.bracket_transformer import Parameters, uniform_attention
from ntpcompanion.dyck.sentences import Even


@checked
def stein_features(T: Even, width: Size, rng: np.random.Generator) -> Parameters:
    """Rows w_j of W_V from N(0, I_{2T}) and output weights that make f an average of m independent
    terms with mean f*, under uniform attention.

    With b = (1_T; 0), Stein's identity gives E[2 (b·w) σ(w·z)] = b·z, which is f* on masked inputs
    and on strings. So u_j = (2T/m) b·w_j, where T undoes the 1/T of uniform attention: f(z) = (2/m)
    Σ_j (b·w_j) σ(w_j·z).

    Parameters
    ----------
    T
        the length of a sentence, even.
    width
        m, the number of neurons.
    rng
        draws the rows of W_V.

    Returns
    -------
    a `Parameters`
        θ, of small but positive loss: (2T² + 3)/m on average, see `single_neuron_variance`.

    Raises
    ------
    ValueError
        an odd T, no neurons.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.dyck import masked_support, squared_loss
    >>> from ntpcompanion.dyck.stein import stein_features
    >>> solution = stein_features(4, 100_000, np.random.default_rng(0))
    >>> squared_loss(solution, *masked_support(4, "random")) < 0.002
    True
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

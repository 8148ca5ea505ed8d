"""Random supports of one size, and random distributions on supports."""

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from ntpcompanion.checks import Size, checked
from ntpcompanion.geometry.supports import as_support
from ntpcompanion.linear.tables.contexts import draw_supports
from ntpcompanion.linear.thresholds.kinematic import Support, Vocabulary


@checked
def random_supports(
    num_contexts: Size, vocab_size: Vocabulary, support_size: Support, rng: np.random.Generator
) -> Bool[np.ndarray, "m V"]:
    """Independent uniform supports of one size.

    Parameters
    ----------
    num_contexts
        m, at least 1.
    vocab_size
        V, at least 2.
    support_size
        k, from 1 to V − 1.
    rng
        draws them.

    Returns
    -------
    (m, V) array of truth values
        k in each row.

    Raises
    ------
    ValueError
        sizes out of range, or what is not a generator.

    Notes
    -----
    Cost O(m V).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.geometry import random_supports
    >>> random_supports(4, 5, 2, np.random.default_rng(0)).sum(axis=1).tolist()
    [2, 2, 2, 2]
    """
    support = np.zeros((num_contexts, vocab_size), dtype=bool)
    chosen = draw_supports(num_contexts, vocab_size, support_size, rng)
    np.put_along_axis(support, chosen, True, axis=1)
    return support


@checked
def random_distributions(support: ArrayLike, rng: np.random.Generator) -> Float[np.ndarray, "m V"]:
    """A distribution for each context, uniform among those with its support (Dirichlet(1)).

    Parameters
    ----------
    support
        (m, V) of zeros and ones or truth values; each row has both.
    rng
        draws them.

    Returns
    -------
    (m, V) array
        rows of sum one, positive on the supports.

    Raises
    ------
    ValueError
        another kind of matrix, or what is not a generator.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.geometry import random_distributions
    >>> drawn = random_distributions([[1, 1, 0], [0, 0, 1]], np.random.default_rng(0))
    >>> drawn.sum(axis=1).tolist(), (drawn > 0).tolist()
    ([1.0, 1.0], [[True, True, False], [False, False, True]])
    """
    inside = as_support("support", support)
    # independent exponential numbers over their sum are uniform on the simplex
    weights = np.where(inside, rng.standard_exponential(inside.shape), 0.0)
    return weights / weights.sum(axis=1, keepdims=True)

"""The synthetic text of Zhao et al. (2024): how random its next tokens are given their contexts."""

import numpy as np
from jaxtyping import Float
from scipy.special import entr

from ntpcompanion.checks import Size, checked

MAX_REPEATS = 4  # times that a token follows a context in the released code, where it can


@checked
def synthetic_floors(
    tables: Size, contexts: Size, tokens: Size, rng: np.random.Generator
) -> Float[np.ndarray, " tables"]:
    """The entropy of the next token given its context, in random tables in which each possible
    token follows a context one to four times, all equally often, as in the released code.

    Parameters
    ----------
    tables
        how many tables to draw.
    contexts, tokens
        of a table, and possible next tokens of each context.
    rng
        the source of randomness.

    Returns
    -------
    (tables,) array
        entropies in nats: the floors of their losses.

    Raises
    ------
    ValueError
        a number below 1, no generator.

    Notes
    -----
    O(tables · contexts · tokens).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.geometry.synthetic_text import synthetic_floors
    >>> floors = synthetic_floors(100, 16, 3, np.random.default_rng(0))
    >>> bool(floors.max() < np.log(3))
    True
    """
    counts = rng.integers(1, MAX_REPEATS + 1, size=(tables, contexts, tokens))
    often = counts.sum(axis=2, keepdims=True)
    entropies = often[..., 0] * entr(counts / often).sum(axis=2)
    return entropies.sum(axis=1) / often.sum(axis=(1, 2))

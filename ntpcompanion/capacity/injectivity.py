"""Do different contexts receive different vectors? All contexts up to a length, by enumeration."""

from dataclasses import dataclass
from itertools import product
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.distance import pdist

from ntpcompanion.checks import Is, Length, Positive, Range, Size, checked, need
from ntpcompanion.validation import as_array

Contexts = list[Int[np.ndarray, " _"]]


@checked
def all_contexts(vocab_size: Size, longest: Size) -> Contexts:
    """All sequences of 1 to `longest` tokens, shorter ones first.

    Parameters
    ----------
    vocab_size, longest
        V tokens; there are V + V² + … + V^longest contexts.

    Returns
    -------
    list of arrays
        the contexts.

    Raises
    ------
    ValueError
        a number below 1.

    Examples
    --------
    >>> from ntpcompanion.capacity import all_contexts
    >>> [context.tolist() for context in all_contexts(2, 2)]
    [[0], [1], [0, 0], [0, 1], [1, 0], [1, 1]]
    """
    lengths = range(1, longest + 1)
    return [
        np.array(one) for length in lengths for one in product(range(vocab_size), repeat=length)
    ]


@checked(
    need(
        "vectors",
        "max(map(len, contexts)) <= len(vectors)",
        "have a table for each position of the longest context",
    )
)
def attend_last(
    contexts: Annotated[Contexts, Length(), Range(0, "vectors.shape[1] - 1")],
    vectors: Float[np.ndarray, "T V d"],
    scores: Float[np.ndarray, "d d"],
) -> Float[np.ndarray, "contexts d"]:
    """What one head of attention gives the last token of each context: an average of the vectors
    of all its tokens, with the softmax of x_lastᵀ A x_t as weights.

    Parameters
    ----------
    contexts
        tokens in 0 … V − 1, at most T each.
    vectors
        (T, V, d): `vectors[t, z]` is the vector of token z at position t. Additive positions,
        none, and a table of their own for each position all have this form.
    scores
        A (d, d), queries times keys; zeros give the uniform average.

    Returns
    -------
    array
        (contexts, d). A value matrix after it keeps different vectors different if it has full
        rank.

    Raises
    ------
    ValueError
        shapes that do not agree, no context or an empty one, tokens outside of 0 … V − 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.capacity import all_contexts, attend_last
    >>> vectors = np.array([[[0.0], [1.0]]] * 2)  # two tokens, two positions without a difference
    >>> attend_last(all_contexts(2, 2), vectors, np.zeros((1, 1))).ravel().tolist()
    [0.0, 1.0, 0.0, 0.5, 0.5, 1.0]
    """
    table, A = as_array("vectors", vectors), as_array("scores", scores)
    averages = np.empty((len(contexts), table.shape[2]))
    for row, context in enumerate(contexts):
        x = table[np.arange(len(context)), context]
        logits = x @ (A.T @ x[-1])
        weights = np.exp(logits - logits.max())
        averages[row] = weights @ x / weights.sum()
    return averages


@dataclass(frozen=True)
class Distances:
    """How far apart vectors are.

    Fields
    ------
    collisions
        pairs that are equal up to rounding.
    closest
        smallest distance of the other pairs.
    """

    collisions: int
    closest: float


@checked
def count_collisions(
    vectors: Annotated[
        Float[np.ndarray, "n d"], Is(lambda vectors: len(vectors) > 1, "have at least two rows")
    ],
    *,
    rounding: Positive = 1e-12,
) -> Distances:
    """Pairs of equal vectors, and how far the others stay apart.

    Parameters
    ----------
    vectors
        (n, d), n ≥ 2.
    rounding
        distances up to this are collisions.

    Returns
    -------
    Distances
        the count decides if `closest` is far above `rounding`.

    Raises
    ------
    ValueError
        not a finite matrix with two rows or more, `rounding` not positive.

    Notes
    -----
    Cost O(n² d).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.capacity import count_collisions
    >>> count_collisions(np.array([[0.0], [2.0], [2.0]]))
    Distances(collisions=1, closest=2.0)
    """
    distances = pdist(as_array("vectors", vectors))
    apart = distances > rounding
    return Distances(int((~apart).sum()), float(distances[apart].min(initial=np.inf)))

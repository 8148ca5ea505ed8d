"""Do different contexts receive different vectors? All contexts up to a length, by enumeration."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.distance import pdist

from ntpcompanion.validation import as_integer, as_matrix, as_positive, as_shaped

Contexts = list[Int[np.ndarray, " _"]]


def all_contexts(vocab_size: int, longest: int) -> Contexts:
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
    V, longest = as_integer("vocab_size", vocab_size, 1), as_integer("longest", longest, 1)
    lengths = range(1, longest + 1)
    return [np.array(one) for length in lengths for one in product(range(V), repeat=length)]


def attend_last(
    contexts: Contexts, vectors: Float[np.ndarray, "T V d"], scores: Float[np.ndarray, "d d"]
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
    table = as_shaped("vectors", vectors, (None, None, None))
    A = as_matrix("scores", scores, (table.shape[2], table.shape[2]))
    _check_contexts(contexts, *table.shape[:2])
    averages = np.empty((len(contexts), table.shape[2]))
    for row, context in enumerate(contexts):
        x = table[np.arange(len(context)), context]
        logits = x @ (A.T @ x[-1])
        weights = np.exp(logits - logits.max())
        averages[row] = weights @ x / weights.sum()
    return averages


def _check_contexts(contexts: Contexts, positions: int, vocab_size: int) -> None:
    if len(contexts) == 0 or min(map(len, contexts)) == 0:
        raise ValueError(f"`contexts` must hold sequences of tokens, got {contexts!r:.60}.")
    if max(map(len, contexts)) > positions:
        raise ValueError(
            f"`vectors` must have a table for each of {max(map(len, contexts))} positions, got "
            f"{positions}."
        )
    tokens = np.concatenate(contexts)
    if tokens.min() < 0 or tokens.max() >= vocab_size:
        wrong = tokens.min() if tokens.min() < 0 else tokens.max()
        raise ValueError(
            f"`contexts` must hold tokens in 0 … {vocab_size - 1}, those of `vectors`, got {wrong}."
        )


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


def count_collisions(vectors: Float[np.ndarray, "n d"], *, rounding: float = 1e-12) -> Distances:
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
    points = as_matrix("vectors", vectors, (None, None))
    limit = as_positive("rounding", rounding)
    if len(points) < 2:
        raise ValueError(f"`vectors` must have at least two rows, got {len(points)}.")
    distances = pdist(points)
    apart = distances > limit
    return Distances(int((~apart).sum()), float(distances[apart].min(initial=np.inf)))

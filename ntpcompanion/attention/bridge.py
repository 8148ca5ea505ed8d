"""When the SVM of the key-query matrix and the next-token SVM are one program: every sequence shows
the whole vocabulary, and the query is the context.
"""

from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.attention.planted_data import TokenSequences
from ntpcompanion.attention.wsvm import WSVMSolution, solve_w_svm
from ntpcompanion.checks import Range, Shape, Size, checked
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.validation import as_array, as_integer_array

Contexts = Annotated[ArrayLike, Shape("m d")]
Targets = Annotated[ArrayLike, Shape("m", integers=True)]
Words = Annotated[ArrayLike, Shape("V width")]


@checked
def next_token_table(
    contexts: Contexts, targets: Annotated[Targets, Range(0, "vocabulary - 1")], vocabulary: Size
) -> ContextTable:
    """Contexts after each of which one word follows.

    Parameters
    ----------
    contexts
        h_j, (m, k).
    targets
        (m,), the word that follows each.
    vocabulary
        how many words there are, V.

    Returns
    -------
    ContextTable
        with one-hot distributions and equal weights.

    Raises
    ------
    ValueError
        contexts that are not a finite matrix, a vocabulary that is not a positive integer, targets
        that are not words, or not one for each context.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.attention import next_token_table
    >>> next_token_table(np.eye(2), [0, 2], 3).next_token.tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    rows, words = as_array("contexts", contexts), as_integer_array("targets", targets)
    return ContextTable(rows, np.eye(vocabulary)[words], np.full(len(rows), 1 / len(rows)))


@checked
def attend_to_vocabulary(
    words: Words, contexts: Contexts, targets: Annotated[Targets, Range(0, "V - 1")]
) -> WSVMSolution:
    """The SVM of the key-query matrix where each sequence consists of all words, the query is a
    context, and the best token is the word that follows it.

    Parameters
    ----------
    words
        X, (V, d): the embeddings of the words.
    contexts
        h_j, (m, k).
    targets
        (m,), the word that follows each context.

    Returns
    -------
    WSVMSolution
        W (d, k). `centred(words) @ W` is a decoder with the same margins; it is the solution of the
        next-token SVM for all contexts and targets if and only if the centred words form a regular
        simplex, X̃X̃ᵀ = c (I − 11ᵀ/V) (for V ≥ 3; always for V = 2).

    Raises
    ------
    ValueError
        matrices that are not finite, targets that are not words.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.attention import attend_to_vocabulary, centred, next_token_table
    >>> from ntpcompanion.linear import solve_ntp_svm
    >>> contexts, targets = np.array([[1.0, 0.0], [-0.8, 0.6]]), [0, 1]
    >>> ours = attend_to_vocabulary(np.eye(4), contexts, targets)
    >>> theirs = solve_ntp_svm(next_token_table(contexts, targets, 4))
    >>> bool(np.allclose(centred(np.eye(4)) @ ours.weights, theirs.weights, atol=1e-4))
    True
    """
    embedded, rows = as_array("words", words), as_array("contexts", contexts)
    followers = as_integer_array("targets", targets)
    tokens = np.broadcast_to(embedded, (len(rows), *embedded.shape))
    return solve_w_svm(TokenSequences(tokens, rows, np.ones(len(rows))), followers, tol=1e-12)


@checked
def centred(words: Words) -> Float[np.ndarray, "V d"]:
    """Embeddings minus their mean: adding a vector to all words changes no attention.

    Parameters
    ----------
    words
        (V, d).

    Returns
    -------
    array
        X̃, (V, d), with columns of sum zero.

    Raises
    ------
    ValueError
        a matrix that is not finite.

    Examples
    --------
    >>> from ntpcompanion.attention import centred
    >>> centred([[1.0, 2.0], [3.0, 6.0]]).tolist()
    [[-1.0, -2.0], [1.0, 2.0]]
    """
    embedded = as_array("words", words)
    return embedded - embedded.mean(axis=0)

"""The excess loss in two parts: the divergence within the supports, and what the probability off
the supports costs.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from ntpcompanion.checks import checked
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.validation import as_matrix


@dataclass(frozen=True)
class ExcessParts:
    """CE(W) − H = `inside` + `off_support`, both in nats and neither negative.

    Fields
    ------
    inside
        Σ_j π_j KL(p_j ‖ softmax of the logits on S_j): it depends on P_F W alone and is zero for
        P_F W = W* only.
    off_support
        −Σ_j π_j log q_j(S_j), with q_j(S_j) the probability that the decoder gives to the support.
    """

    inside: float
    off_support: float


@checked
def decompose_excess_loss(table: ContextTable, W: Float[np.ndarray, "V d"]) -> ExcessParts:
    """The two parts of the excess loss of a decoder, by the chain rule of the divergence.

    Parameters
    ----------
    table
        the contexts.
    W
        (V, d), the decoder.

    Returns
    -------
    ExcessParts
        both parts, in nats.

    Raises
    ------
    ValueError
        `W` is not a finite (V, d) matrix.

    Notes
    -----
    Cost O(m V d). Differences of nearly equal numbers: below 1e-12 nats use `DecomposedLoss`.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable
    >>> from ntpcompanion.linear.dynamics.off_support_mass import decompose_excess_loss
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> parts = decompose_excess_loss(table, np.zeros((3, 2)))  # ½ log (3/2) + ½ log 3
    >>> round(parts.inside, 6), round(parts.off_support, 6)
    (0.0, 0.752039)
    """
    W = as_matrix("W", W, (table.vocab_size, table.dim))
    logits, support = table.embeddings @ W.T, table.support.toarray()
    on_support = logsumexp(np.where(support, logits, -np.inf), axis=1)
    log_mass = on_support - logsumexp(logits, axis=1)
    p = table.next_token
    log_p = np.log(p, out=np.zeros(p.shape), where=support)
    inside = (p * (log_p - logits + on_support[:, None])).sum(axis=1, where=support)
    return ExcessParts(float(table.weight @ inside), float(-(table.weight @ log_mass)))

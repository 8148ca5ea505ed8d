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

    `inside` is Σ_j π_j KL(p_j ‖ softmax of the logits on S_j): it depends on P_F W alone and is
    zero for P_F W = W* only. `off_support` is −Σ_j π_j log q_j(S_j).
    """

    inside: float
    off_support: float


@checked
def decompose_excess_loss(table: ContextTable, W: Float[np.ndarray, "V d"]) -> ExcessParts:
    """The two parts of the excess loss of a decoder, by the chain rule of the divergence.

    Differences of nearly equal numbers: below 1e-12 nats use `DecomposedLoss`. Raises `ValueError`
    where `W` is not a finite (V, d) matrix.
    """
    W = as_matrix("W", W, (table.vocab_size, table.dim))
    logits, support = table.embeddings @ W.T, table.support.toarray()
    on_support = logsumexp(np.where(support, logits, -np.inf), axis=1)
    log_mass = on_support - logsumexp(logits, axis=1)
    p = table.next_token
    log_p = np.log(p, out=np.zeros(p.shape), where=support)
    inside = (p * (log_p - logits + on_support[:, None])).sum(axis=1, where=support)
    return ExcessParts(float(table.weight @ inside), float(-(table.weight @ log_mass)))

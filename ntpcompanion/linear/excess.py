"""The explicit bound on the loss above the floor along W^p + γ W^d (Proposition 1)."""

from numbers import Real

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from ntpcompanion.linear.contexts import ContextTable
from ntpcompanion.validation import as_matrix, as_number, check_instance


def excess_bound(table: ContextTable, finite_part: Float[np.ndarray, "V d"], gamma: Real) -> float:
    """e^{−γ} Σ_j π_j Σ_{z∈S_j} p_jz² Σ_{v∉S_j} exp((e_v − e_z)ᵀ W^p h_j), in nats: no less than
    CE(W^p + γ W^d) − H for any separating W^d.

    Parameters
    ----------
    table
        the contexts.
    finite_part
        W^p, (V, d), a decoder with the log-odds of the data on every support (equation 4). The
        bound says nothing about others.
    gamma
        γ ≥ 0.

    Returns
    -------
    float
        the bound, in nats.

    Raises
    ------
    ValueError
        `finite_part` is not a finite (V, d) matrix, or `gamma` is negative or not finite.

    Notes
    -----
    Why: on the support e^{logit} = c_j p_jz, so the loss above the floor is log(1 + Z_off / c_j) ≤
    Z_off / c_j with Z_off = Σ_v e^{logit_v}; margins of at least 1 divide Z_off by e^γ, and 1 / c_j
    = Σ_z p_jz² e^{−logit_z}. Cost O(m V d).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, check_compatibility
    >>> from ntpcompanion.linear import excess_bound, solve_ntp_svm
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> finite = check_compatibility(table).finite_part
    >>> bound = excess_bound(table, finite, 2.0)
    >>> excess = table.excess(finite + 2.0 * solve_ntp_svm(table).weights)
    >>> round(excess, 4), round(bound, 4)
    (0.1525, 0.1692)
    """
    check_instance("table", table, ContextTable)
    W = as_matrix("finite_part", finite_part, (table.vocab_size, table.dim))
    gamma = as_number("gamma", gamma, 0)
    logits = table.embeddings @ W.T
    support = table.support.toarray()
    off = logsumexp(np.where(support, -np.inf, logits), axis=1)
    laws = np.zeros(support.shape)
    laws[support] = table.laws.data
    with np.errstate(divide="ignore"):
        inside = logsumexp(2 * np.log(laws) - logits, axis=1)
    return float(np.exp(-gamma) * (table.weight @ np.exp(off + inside)))

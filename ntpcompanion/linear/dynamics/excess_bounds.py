"""Explicit bounds on the loss above the floor: from above along W^p + γ W^d (Proposition 1), and
from below by a certificate that one of the two conditions fails; its two parts; and minima, with a
penalty.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.optimize import minimize, minimize_scalar
from scipy.special import entr, logsumexp

from ntpcompanion.checks import NotNegative, Shape, checked
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.validation import as_array, as_matrix

# Of a search in [0, 1] for a maximum: its value is then right to about the square of this.
STEP_TOLERANCE = 1e-8
# Of the gradient at a minimum of the loss.
GRADIENT_TOLERANCE = 1e-10


@checked
def excess_bound(
    table: ContextTable, finite_part: Float[np.ndarray, "V d"], gamma: NotNegative
) -> float:
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
    W = as_matrix("finite_part", finite_part, (table.vocab_size, table.dim))
    logits = table.embeddings @ W.T
    support = table.support.toarray()
    off = logsumexp(np.where(support, -np.inf, logits), axis=1)
    distributions = np.zeros(support.shape)
    distributions[support] = table.distributions.data
    with np.errstate(divide="ignore"):
        inside = logsumexp(2 * np.log(distributions) - logits, axis=1)
    return float(np.exp(-gamma) * (table.weight @ np.exp(off + inside)))


@checked
def excess_lower_bound(table: ContextTable, certificate: Float[np.ndarray, "m V"]) -> float:
    """The largest Σ_j π_j H(p_j − s Γ_j / π_j) − H over s ≥ 0, in nats: no decoder comes closer to
    the floor if EᵀΓ = 0, Γ1 = 0 and Γ ≤ 0 off support.

    Parameters
    ----------
    table
        the contexts.
    certificate
        Γ, (m, V): from `check_separability`, or Λ from `check_compatibility`. The bound is that of
        real numbers where the cancellations EᵀΓ = 0 and Γ1 = 0 hold to rounding.

    Returns
    -------
    float
        the bound, in nats; positive for either certificate.

    Raises
    ------
    ValueError
        the certificate is not a finite (m, V) matrix, or has positive entries off support.

    Notes
    -----
    Why: q_j = p_j − s Γ_j / π_j are distributions with Σ_j π_j q_j h_jᵀ = Σ_j π_j p_j h_jᵀ, so
    CE(W) is the same with q in place of p, and is then at least the entropy of q. This is concave
    in s: one bounded search, each step O(m V).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, check_separability
    >>> from ntpcompanion.linear.dynamics.excess_bounds import excess_lower_bound
    >>> p = np.array([[1.0, 0.0], [0.0, 1.0]])  # two contexts with one embedding
    >>> table = ContextTable(np.ones((2, 1)), p, np.array([0.5, 0.5]))
    >>> certificate = check_separability(table).certificate
    >>> round(excess_lower_bound(table, certificate), 4)  # log 2
    0.6931
    """
    gamma = as_matrix("certificate", certificate, (table.num_contexts, table.vocab_size))
    support = table.support.toarray()
    if gamma[~support].max(initial=-np.inf) > 0:
        raise ValueError(
            "`certificate` must not be positive off support, its largest entry there is "
            f"{gamma[~support].max():.3g}."
        )
    move, distributions = gamma / table.weight[:, None], table.distributions.toarray()
    shrinking = move > 0
    if not shrinking.any():
        return 0.0
    move *= (distributions[shrinking] / move[shrinking]).min()  # the longest step is 1

    def negative_entropy(step: float) -> float:
        return -float(table.weight @ entr(np.maximum(distributions - step * move, 0.0)).sum(axis=1))

    best = minimize_scalar(
        negative_entropy, bounds=(0.0, 1.0), method="bounded", options={"xatol": STEP_TOLERANCE}
    )
    return max(0.0, -float(best.fun) - table.entropy)


@checked
def penalized_minima(
    table: ContextTable, penalties: Annotated[ArrayLike, Shape("n")]
) -> Float[np.ndarray, "n V d"]:
    """Minimize CE(W) + c ‖W‖² for each penalty c ≥ 0 in turn, from zero and then from the last
    minimum. With c = 0 the search ends where the gradient is below 1e-10.

    BFGS: O((V d)²) a step. Raises `ValueError` where `penalties` has another shape than (n,), or is
    not finite.
    """
    minima = [np.zeros(table.vocab_size * table.dim)]
    shape = table.vocab_size, table.dim
    for c in as_array("penalties", penalties):

        def loss(w: np.ndarray, c: float = c) -> tuple[float, np.ndarray]:
            gradient = table.gradient(w.reshape(shape)).ravel() + 2 * c * w
            return table.excess(w.reshape(shape)) + c * w @ w, gradient

        options = {"gtol": GRADIENT_TOLERANCE}
        minima.append(minimize(loss, minima[-1], jac=True, options=options).x)
    return np.reshape(minima[1:], (-1, *shape))


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

"""The training set of next-token prediction, seen as distinct contexts with sparse next-token
distributions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float, Int, Integer
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse, sparray, spmatrix

from ntpcompanion.checks import Range, Size, checked
from ntpcompanion.languages.text.counting import count_contexts
from ntpcompanion.numerics.memory import check_dense
from ntpcompanion.numerics.series import NEAR, exp_remainder
from ntpcompanion.validation import as_matrix, as_shaped, check_probabilities, described

# Logits are formed for this many (context, token) pairs at a time: 32 MiB in float64, whatever m
# and V are.
BLOCK_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class ContextTable:
    """m distinct contexts: embedding h_j, next-token distribution p_j with support S_j, frequency
    π_j (Thrampoulidis 2024, section 2).

    Contexts are rows. A decoder W is (V, d), its logits are E Wᵀ, (m, V). The table keeps read-only
    copies of what it is given (arrays, lists, data frames, tensors).

    Fields
    ------
    embeddings
        E, (m, d), finite.
    next_token
        (m, V), dense or `scipy.sparse`; row j is p_j: non-negative, with sum one to within 1e-8.
        Zeros are exact: the support of context j is {z : p_jz > 0}. It stays dense or sparse as it
        came (sparse: CSR without stored zeros).
    weight
        π, (m,), positive, with sum one to within 1e-8.

    Raises
    ------
    ValueError
        what is not an array of numbers or has masked entries, NaN or infinity, negative entries,
        rows or weights that do not sum to one, weights that are not positive, shapes that do not
        agree, or no context with a token outside its support.

    Examples
    --------
    Two contexts, three tokens; the first context leaves two tokens open:

    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable
    >>> embeddings = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> next_token = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    >>> table = ContextTable(embeddings, next_token, np.array([0.5, 0.5]))
    >>> table.num_contexts, table.vocab_size, table.dim
    (2, 3, 2)
    >>> round(table.entropy, 4)  # the entropy lower bound, in nats
    0.3466
    >>> round(table.cross_entropy(np.zeros((3, 2))), 4)
    1.0986

    The hidden states of a trained model: contexts are counted in a text, and each gets the mean of
    the states in which the model met it. Here `states[k]` stands for the state after token k:

    >>> from ntpcompanion.languages import count_contexts
    >>> text = np.array([0, 1, 2, 0, 1, 0, 1, 2, 0, 2])
    >>> states = np.random.default_rng(0).standard_normal((len(text), 4))
    >>> counts = count_contexts(text, vocab_size=3, lengths=[2])[0]
    >>> sums = np.zeros((counts.num_contexts, 4))
    >>> np.add.at(sums, counts.context_of, states[counts.length - 1 : -1])
    >>> means = sums / np.bincount(counts.context_of)[:, None]
    >>> table = ContextTable(means, counts.distributions, counts.frequency)
    >>> counts.contexts.tolist()
    [[1, 0], [2, 0], [0, 1], [1, 2]]
    >>> table.support_sizes.tolist()
    [1, 2, 2, 1]
    """

    embeddings: Float[np.ndarray, "m d"]
    next_token: Float[np.ndarray, "m V"] | sparray | spmatrix
    weight: Float[np.ndarray, " m"]

    def __post_init__(self) -> None:
        embeddings = read_only_copy(as_matrix("embeddings", self.embeddings, (None, None)))
        object.__setattr__(self, "embeddings", embeddings)
        object.__setattr__(
            self, "next_token", as_distributions("next_token", self.next_token, len(embeddings))
        )
        object.__setattr__(self, "weight", as_weight("weight", self.weight, len(embeddings)))

    @classmethod
    @checked
    def random(
        cls,
        num_contexts: Size,
        vocab_size: Annotated[int, Range(2)],
        support_size: Annotated[int, Range(1, "vocab_size - 1", "(`vocab_size` − 1)")],
        dim: Size,
        rng: np.random.Generator,
    ) -> "ContextTable":
        """Random contexts of equal frequency: N(0, 1) embeddings, uniform supports of one size,
        Dirichlet(1) distributions on them; dense.

        Raises ValueError unless all sizes are positive integers, `support_size` < `vocab_size`,
        `rng` is a generator, and the table fits in memory. Cost O(m (V + d)).
        """
        check_dense("num_contexts", 3, (num_contexts, vocab_size))
        supports = draw_supports(num_contexts, vocab_size, support_size, rng)
        next_token = np.zeros((num_contexts, vocab_size))
        np.put_along_axis(
            next_token, supports, rng.dirichlet(np.ones(support_size), size=num_contexts), axis=1
        )
        return cls(
            rng.standard_normal((num_contexts, dim)),
            next_token,
            np.full(num_contexts, 1 / num_contexts),
        )

    @classmethod
    @checked
    def from_tokens(
        cls,
        tokens: Integer[np.ndarray, " N"],
        vocab_size: int,
        context_length: Size,
        dim: Size,
        rng: np.random.Generator,
    ) -> "ContextTable":
        """Count every window of `context_length` + 1 tokens of a text; each distinct context gets
        an N(0, 1) embedding.

        Parameters
        ----------
        tokens
            (N,) integers in 0 … vocab_size − 1.
        vocab_size
            V, how many tokens there are.
        context_length
            t, how many tokens a context has.
        dim
            d, of the embeddings.
        rng
            draws the embeddings.

        Returns
        -------
        ContextTable
            A sparse table of the distinct contexts; weight is their share of the N − context_length
            windows.

        Raises
        ------
        ValueError
            tokens out of range, too short a text, or a size below 1.

        Notes
        -----
        Cost O(context_length · N log N) time, O(m d + N) memory.
        """
        counts = count_contexts(tokens, vocab_size, [context_length])[0]
        return cls(
            rng.standard_normal((counts.num_contexts, dim)), counts.distributions, counts.frequency
        )

    @property
    def num_contexts(self) -> int:
        """Number m of distinct contexts."""
        return self.embeddings.shape[0]

    @property
    def dim(self) -> int:
        """Embedding dimension d."""
        return self.embeddings.shape[1]

    @property
    def vocab_size(self) -> int:
        """Vocabulary size V."""
        return self.next_token.shape[1]

    @cached_property
    def distributions(self) -> csr_array:
        """`next_token` as CSR (m, V) without stored zeros, whatever form it came in. `.data` holds
        the p_jz on the supports, row by row.
        """
        return csr_array(self.next_token)

    @cached_property
    def support(self) -> csr_array:
        """The supports S_j as boolean CSR (m, V). Row j of its `toarray()` is the mask of S_j;
        `indices` and `indptr` list it.
        """
        p = self.distributions
        return csr_array((np.ones(p.nnz, dtype=bool), p.indices, p.indptr), shape=p.shape)

    @cached_property
    def support_sizes(self) -> Int[np.ndarray, " m"]:
        """S_j, the number of tokens that can follow each context."""
        return np.diff(self.distributions.indptr).astype(np.int64)

    @cached_property
    def entropy(self) -> float:
        """The floor in nats below which no decoder's cross-entropy gets, H = −Σ_j π_j Σ_z p_jz log
        p_jz.
        """
        p = self.distributions.data
        return float(abs(np.repeat(self.weight, self.support_sizes) @ (p * np.log(p))))

    def cross_entropy(self, W: Float[np.ndarray, "V d"]) -> float:
        """CE(W) = −Σ_j π_j Σ_z p_jz log softmax_z(W h_j) in nats (equation 2), finite at any finite
        logits.

        Raises ValueError if W is not a finite (V, d) matrix. Cost: m V d multiplications and m V
        exponentials, in blocks of rows of 32 MiB, whatever m is.
        """
        return self.entropy + self.excess(W)

    def excess(self, W: Float[np.ndarray, "V d"]) -> float:
        """CE(W) − H = Σ_j π_j KL(p_j ‖ softmax(W h_j)) in nats, without the cancellation of the
        difference: small values keep their digits.

        With q the softmax and q(S) its mass on the support, KL = −log q(S) + Σ_{z∈S} p_z (r_z − 1 −
        log r_z), r_z = q_z / (q(S) p_z): no term is negative. Raises ValueError if W is not a
        finite (V, d) matrix. Cost as `cross_entropy`.
        """
        return sum(self._excess_of_block(rows, logits) for rows, logits in self._logits(W))

    def gradient(self, W: Float[np.ndarray, "V d"]) -> Float[np.ndarray, "V d"]:
        """∇CE(W) = Σ_j π_j (softmax(W h_j) − p_j) h_jᵀ, finite at any finite logits.

        Raises ValueError if W is not a finite (V, d) matrix. Cost: 2 m V d multiplications and m V
        exponentials, in blocks of rows of 32 MiB, whatever m is.
        """
        weighted = self.weight[:, None] * self.embeddings
        gradient = -(self.distributions.T @ weighted)
        for rows, logits in self._logits(W):
            _, total = _exponentials_(logits)
            gradient += logits.T @ (weighted[rows] / total[:, None])
        return gradient

    def _logits(
        self, W: Float[np.ndarray, "V d"]
    ) -> Iterator[tuple[slice, Float[np.ndarray, "rows V"]]]:
        W = as_matrix("W", W, (self.vocab_size, self.dim))
        step = max(1, BLOCK_ENTRIES // self.vocab_size)
        for start in range(0, self.num_contexts, step):
            rows = slice(start, min(start + step, self.num_contexts))
            yield rows, self.embeddings[rows] @ W.T

    def _excess_of_block(self, rows: slice, logits: Float[np.ndarray, "rows V"]) -> float:
        p, sizes = self.distributions[rows], self.support_sizes[rows]
        row = np.repeat(np.arange(len(sizes)), sizes)
        inside = logits[row, p.indices]
        logits[row, p.indices] = -np.inf
        mass_inside = _logsumexp_by_row(inside, p.indptr[:-1], row)
        peak, total = _exponentials_(logits)
        with np.errstate(divide="ignore"):  # a support of all tokens loses nothing
            lost = np.logaddexp(0.0, peak + np.log(total) - mass_inside)
        log_conditional = inside - mass_inside[row]
        x = log_conditional - np.log(p.data)
        within = np.where(
            np.abs(x) < NEAR,
            p.data * exp_remainder(np.clip(x, -NEAR, NEAR)),
            np.exp(log_conditional) - p.data * (1 + x),
        )
        return float(self.weight[rows] @ lost + self.weight[rows][row] @ within)


def _exponentials_(
    logits: Float[np.ndarray, "rows V"],
) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " rows"]]:
    """In place: e^(logit − peak), with the peak of each row; the peaks and the sums of rows. A row
    of −∞ has the peak 0 and the sum 0.

    No second array of this size is made: at V = 50,000 that costs more than the exponentials.
    """
    peak = logits.max(axis=1)
    peak[peak == -np.inf] = 0.0
    logits -= peak[:, None]
    return peak, np.exp(logits, out=logits).sum(axis=1)


def _logsumexp_by_row(
    values: Float[np.ndarray, " nnz"],
    starts: Integer[np.ndarray, " rows"],
    row: Int[np.ndarray, " nnz"],
) -> Float[np.ndarray, " rows"]:
    peak = np.maximum.reduceat(values, starts)  # no row is empty: its distribution sums to one
    return peak + np.log(np.add.reduceat(np.exp(values - peak[row]), starts))


def draw_supports(
    num_contexts: int, vocab_size: int, support_size: int, rng: np.random.Generator
) -> Int[np.ndarray, "m k"]:
    """The tokens of independent uniform supports of one size, in no order. Cost O(m V)."""
    drawn = rng.random((num_contexts, vocab_size))
    return drawn.argpartition(support_size - 1, axis=1)[:, :support_size]


def as_distributions(
    name: str, value: ArrayLike | sparray | spmatrix, rows: int
) -> Float[np.ndarray, "rows vocab"] | csr_array:
    """A read-only copy of next-token distributions, one a row: sparse (canonical CSR without stored
    zeros) if it came sparse, else dense.

    Raises ValueError unless entries are finite and non-negative, rows sum to one within
    SUM_TOLERANCE, and some entry is zero.
    """
    distributions: Any = (
        _sparse_distributions(name, value, rows)
        if issparse(value)
        else _dense_distributions(name, value, rows)
    )
    entries, support = (
        (distributions.data, distributions.nnz)
        if issparse(distributions)
        else (distributions, np.count_nonzero(distributions))
    )
    check_probabilities(name, entries, distributions.sum(axis=1))
    if support == distributions.shape[0] * distributions.shape[1]:
        raise ValueError(
            f"`{name}`: every context can be followed by every token. At least one context needs a "
            "token outside its support (a zero)."
        )
    return distributions


def _dense_distributions(name: str, value: ArrayLike, rows: int) -> Float[np.ndarray, "rows vocab"]:
    return read_only_copy(as_matrix(name, value, (rows, None)))


def _sparse_distributions(name: str, value: sparray | spmatrix, rows: int) -> csr_array:
    if value.dtype.kind not in "fiub":
        raise ValueError(f"`{name}` must be an array of numbers, got {described(value)}.")
    if value.ndim != 2 or value.shape[0] != rows or not value.shape[1]:
        raise ValueError(
            f"`{name}` must be a matrix of shape ({rows}, any), got shape {value.shape}."
        )
    distributions = csr_array(value, dtype=np.float64, copy=True)
    distributions.sum_duplicates()
    distributions.eliminate_zeros()
    for part in (distributions.data, distributions.indices, distributions.indptr):
        part.flags.writeable = False
    return distributions


def as_weight(name: str, value: ArrayLike, rows: int) -> Float[np.ndarray, " rows"]:
    """A read-only copy of positive context frequencies that sum to one within SUM_TOLERANCE. Raises
    ValueError otherwise.
    """
    weight = read_only_copy(as_shaped(name, value, (rows,), "one frequency per context"))
    if weight.min() <= 0:
        row = int(weight.argmin())
        raise ValueError(
            f"`{name}` must be positive, got {weight[row]:.6g} for context {row}. Leave out "
            "contexts that never occur."
        )
    check_probabilities(name, weight, weight.sum())
    return weight


def read_only_copy(array: np.ndarray) -> np.ndarray:
    """A copy that nobody can write to: a later change of the caller's array does not reach it."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy

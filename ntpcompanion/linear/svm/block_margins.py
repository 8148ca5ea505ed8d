"""All margins of a decoder in blocks of bounded memory, and the removal of what breaks its ties."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from ntpcompanion.linear.svm.pairs import Pairs
from ntpcompanion.linear.tables.contexts import BLOCK_ENTRIES

# Conjugate gradients in single precision, started again with the error that remains.
TIE_ROUNDS, TIE_STEPS, TIE_ROUNDING = 8, 200, 1e-13
# Ties count as centred while the sum over a context is at most this fraction of the largest: far
# below the fraction to which the steps reduce them.
UNEVEN = 1e-7


@dataclass(frozen=True, eq=False)
class Scan:
    """The pairs off the supports whose margins may be small, as sorted keys j V + v of the pairs
    (j, v). `rest` is a lower bound on the margins of all other pairs off the supports, in multiples
    of the threshold, and at most the bound of the scan.
    """

    keys: Int[np.ndarray, " k"]
    vocab_size: int
    rest: float

    @property
    def context(self) -> Int[np.ndarray, " k"]:
        """The contexts j."""
        return self.keys // self.vocab_size

    @property
    def token(self) -> Int[np.ndarray, " k"]:
        """The tokens v."""
        return self.keys % self.vocab_size


def unit_spread(support: csr_array) -> csr_array:
    """The uniform distribution on each support, (m, V)."""
    sizes = np.diff(support.indptr)
    return csr_array((1 / np.repeat(sizes, sizes), support.indices, support.indptr), support.shape)


def scan_pairs(
    support: csr_array,
    rows: Float[np.ndarray, "m d"],
    threshold: Float[np.ndarray, " m"],
    W: Float[np.ndarray, "V d"],
    bound: float,
    limit: int,
) -> Scan:
    """The pairs off the supports with margins below `bound` thresholds, at most the `limit`
    smallest of a context.

    Logits are products in single precision. `rest` allows for their rounding: a dot product of d
    terms is off by no more than (d + 3) 2⁻²⁴ ‖u‖ ‖w‖ (Higham 2002, section 3.1, with the rounding
    of both factors), and rows have length 1. Cost m V d, in blocks of 2²² logits, 16 MiB.
    """
    m, V = support.shape
    single, keys, rest = np.ascontiguousarray(W.T, dtype=np.float32), [], np.inf
    longest = float(np.linalg.norm(W, axis=1).max())
    error = (W.shape[1] + 3) * 2.0**-24 * 1.01 * longest
    step = max(1, BLOCK_ENTRIES // V)
    for start in range(0, m, step):
        part = slice(start, min(start + step, m))
        block, c = support[part], threshold[part]
        logits = rows[part].astype(np.float32) @ single
        on = np.repeat(np.arange(len(c)), np.diff(block.indptr)), block.indices
        inside, logits[on] = logits[on].astype(float), -np.inf
        level = np.minimum.reduceat(inside, block.indptr[:-1])
        cut = (level - bound * c).astype(np.float32)
        selected = logits > cut[:, None]
        many = np.flatnonzero(np.count_nonzero(selected, axis=1) > limit)
        if len(many):
            cut[many], selected[many] = _largest(logits[many], limit)
        positions = np.nonzero(selected)
        keys.append((positions[0] + start) * V + positions[1])
        rest = min(rest, float(((level - cut - 2 * error) / c).min()))
    return Scan(np.concatenate(keys), V, rest)


def _largest(
    logits: Float[np.ndarray, "rows V"], limit: int
) -> tuple[Float[np.ndarray, " rows"], Bool[np.ndarray, "rows V"]]:
    """The largest logit of each row that is not among its `limit` largest, and which are: of equal
    ones at the border any. Tokens without a pair have equal logits, as their rows of W are 0.
    """
    first = logits.shape[1] - limit
    order = np.argpartition(logits, first - 1, axis=1)
    largest = np.zeros(logits.shape, dtype=bool)
    np.put_along_axis(largest, order[:, first:], True, axis=1)
    return np.take_along_axis(logits, order[:, [first - 1]], axis=1)[:, 0], largest


def remove_ties(
    support: csr_array,
    rows: Float[np.ndarray, "m d"],
    W: Float[np.ndarray, "V d"],
    tolerance: float,
) -> tuple[Float[np.ndarray, "V d"], int]:
    """W without its part in F, the span of (e_z − e_z') h_jᵀ over tokens z, z' of a support, by
    conjugate gradients until in-support logits of unit embeddings lie within `tolerance` of the
    largest, or rounding, from their mean over the context; and how many steps it took.

    After `TIE_ROUNDS` rounds more may be left, where embeddings are nearly parallel: its caller
    measures the ties. Cost 4 n d a step, for n pairs on supports of several tokens.
    """
    several = np.flatnonzero(np.diff(support.indptr) > 1)
    if not len(several):
        return W, 0
    none = np.zeros(0, dtype=np.int64)
    pairs, rows = Pairs(support[several], none, none), rows[several]
    single, steps = rows.astype(np.float32), 0
    for _ in range(TIE_ROUNDS):
        logits = pairs.logits(W, rows)
        ties = pairs.centred(logits, pairs.inside)
        if np.abs(ties).max() <= max(tolerance, TIE_ROUNDING) * np.abs(logits).max():
            break
        if np.abs(pairs.sums(ties)).max() > UNEVEN * np.abs(ties).max():
            # rounding of the size of logits, which no correction gives: the steps would blow it up
            ties = pairs.centred(ties, pairs.inside)
        correction, made = pairs.solve(ties, pairs.inside, single, TIE_STEPS)
        W, steps = W - pairs.decoder(correction, rows), steps + made
    return W, steps

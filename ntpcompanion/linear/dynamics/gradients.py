"""Gradients of the cross-entropy in buffers that are made once: what a step of descent costs is
mostly this.
"""

import numpy as np

from ntpcompanion.linear.tables.contexts import ContextTable

# In-support mass below this counts as none: the gradient on the support is −p there, whatever the
# shares.
SMALLEST_MASS = 1e-300


class FullGradient:
    """∇CE at W in preallocated buffers. Tokens are rows here, so that softmax reduces along the
    first axis, which is faster.

    With r the softmax within the support and ε the mass off it, q − p is (r − p) − ε r there:
    exactly −ε for one-hot contexts.
    """

    def __init__(self, table: ContextTable) -> None:
        self.columns = np.ascontiguousarray(table.embeddings.T)
        self.weighted = table.weight[:, None] * table.embeddings
        p = np.ascontiguousarray(table.distributions.toarray().T)
        # a single token has exactly 1
        self.distributions, self.support = p / p.sum(axis=0), (p > 0).astype(float)
        self.off, self.inside, self.product = np.empty((3, *p.shape))
        self.peak, self.mass_off, self.mass_inside = np.empty((3, table.num_contexts))
        self.gradient = np.empty((table.vocab_size, table.dim))

    def __call__(self, W: np.ndarray) -> np.ndarray:
        """The gradient at W, (V, d), in a buffer that the next call overwrites. O(m V d)."""
        off, inside = self.off, self.inside
        _exponentials_of_columns(np.dot(W, self.columns, out=off), self.peak)
        np.subtract(off, np.multiply(off, self.support, out=inside), out=off)
        np.add.reduce(off, axis=0, out=self.mass_off)
        np.add.reduce(inside, axis=0, out=self.mass_inside)
        total = np.add(self.mass_off, self.mass_inside, out=self.peak)
        np.divide(
            inside, np.maximum(self.mass_inside, SMALLEST_MASS, out=self.mass_inside), out=inside
        )
        np.divide(off, total, out=off)
        np.multiply(inside, np.divide(self.mass_off, total, out=self.mass_off), out=self.product)
        np.subtract(off, self.product, out=off)
        np.add(off, np.subtract(inside, self.distributions, out=inside), out=off)
        return np.dot(off, self.weighted, out=self.gradient)


class SampledGradient:
    """The same on fresh samples of pairs (j, z) with probabilities π_j p_jz; its expectation is
    ∇CE.
    """

    def __init__(self, table: ContextTable, batch_size: int, rng: np.random.Generator) -> None:
        self.rows, self.tokens = table.distributions.tocoo().coords
        joint = np.repeat(table.weight, table.support_sizes) * table.distributions.data
        self.upper = np.cumsum(joint / joint.sum())
        self.embeddings, self.batch_size, self.rng = table.embeddings, batch_size, rng

    def __call__(self, W: np.ndarray) -> np.ndarray:
        """The gradient at W on the next samples, (V, d). O(batch_size V d)."""
        drawn = np.searchsorted(self.upper[:-1], self.rng.random(self.batch_size), side="right")
        h = self.embeddings[self.rows[drawn]]
        residual = _exponentials_of_columns(W @ h.T, np.empty(self.batch_size))
        residual /= residual.sum(axis=0)
        residual[self.tokens[drawn], np.arange(self.batch_size)] -= 1
        return residual @ h / self.batch_size


def _exponentials_of_columns(logits: np.ndarray, peak: np.ndarray) -> np.ndarray:
    np.subtract(logits, np.maximum.reduce(logits, axis=0, out=peak), out=logits)
    return np.exp(logits, out=logits)

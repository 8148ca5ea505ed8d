"""A dual matrix Γ that is zero except on chosen pairs (context, token), and its products through
the embeddings: no (m, m) or (m, V) array is ever formed.
"""

import warnings

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

# The level of a projection is found when no Newton step lowers it by more than this fraction.
ROUNDING, NEWTON_STEPS = 1e-15, 100
# Conjugate gradients end when the residual has fallen to this fraction: single rounding.
FALLEN = 1e-4


class Pairs:
    """The pairs on which Γ may differ from zero: all of the supports, and those of `context` and
    `token` off them, each once, in any order. `support` is in canonical CSR.

    Vectors of length n hold one value a pair, context by context. Sums over a context and products
    cost O(n) and O(n d).
    """

    def __init__(
        self, support: csr_array, context: Int[np.ndarray, " k"], token: Int[np.ndarray, " k"]
    ) -> None:
        self.shape = m, V = support.shape
        of_support = np.repeat(np.arange(m, dtype=np.int64), np.diff(support.indptr))
        inside = of_support * V + support.indices
        outside = np.sort(context.astype(np.int64) * V + token)
        self.keys = np.sort(np.concatenate([inside, outside]))
        self.row, self.token = self.keys // V, self.keys % V
        self.inside = np.isin(self.keys, inside, assume_unique=True)
        self.off = np.flatnonzero(~self.inside)
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(self.row, minlength=m))])
        self.sizes = np.diff(support.indptr).astype(float)
        self._order = np.argsort(self.token, kind="stable")
        self._columns = np.concatenate([[0], np.cumsum(np.bincount(self.token, minlength=V))])
        self._pattern = torch.tensor(self.starts), torch.tensor(self.token)

    def __len__(self) -> int:
        return len(self.keys)

    def moved(self, other: "Pairs", values: Float[np.ndarray, " k"]) -> Float[np.ndarray, " n"]:
        """Values on the pairs of another set, as values on these; zero where it has no value."""
        positions = np.minimum(np.searchsorted(self.keys, other.keys), len(self) - 1)
        both = self.keys[positions] == other.keys
        out = np.zeros(len(self))
        out[positions[both]] = values[both]
        return out

    def matrix(self, values: Float[np.ndarray, " n"]) -> csr_array:
        """Γ (m, V) as CSR."""
        return csr_array((values, self.token, self.starts), shape=self.shape)

    def decoder(
        self, values: Float[np.ndarray, " n"], rows: Float[np.ndarray, "m d"]
    ) -> Float[np.ndarray, "V d"]:
        """Γᵀ rows, in the precision of `rows`."""
        by_token = values[self._order].astype(rows.dtype), self.row[self._order], self._columns
        return csr_array(by_token, shape=self.shape[::-1]) @ rows

    def logits(
        self, W: Float[np.ndarray, "V d"], rows: Float[np.ndarray, "m d"]
    ) -> Float[np.ndarray, " n"]:
        """(rows Wᵀ)_jv for the pairs (j, v) alone, in the precision of `rows`, as float64."""
        with warnings.catch_warnings():
            # torch calls its CSR tensors a beta feature, once a process
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            zero = torch.zeros(len(self), dtype=torch.from_numpy(W).dtype)
            pattern = torch.sparse_csr_tensor(
                *self._pattern, zero, self.shape, check_invariants=False
            )
        sampled = torch.sparse.sampled_addmm(
            pattern, torch.from_numpy(rows), torch.from_numpy(W).T, beta=0.0
        )
        return sampled.values().numpy().astype(float)

    def product(
        self, values: Float[np.ndarray, " n"], rows: Float[np.ndarray, "m d"]
    ) -> Float[np.ndarray, " n"]:
        """(rows rowsᵀ Γ)_jv on the pairs: 4 n d operations."""
        return self.logits(self.decoder(values, rows), rows)

    def margins(
        self,
        W: Float[np.ndarray, "V d"],
        rows: Float[np.ndarray, "m d"],
        threshold: Float[np.ndarray, " m"],
    ) -> tuple[Float[np.ndarray, " k"], float]:
        """The margins of the pairs off the supports, and the largest difference of two in-support
        logits, both in multiples of the thresholds c_j.
        """
        logits = self.logits(W, rows)
        low = np.minimum.reduceat(np.where(self.inside, logits, np.inf), self.starts[:-1])
        high = np.maximum.reduceat(np.where(self.inside, logits, -np.inf), self.starts[:-1])
        row = self.row[self.off]
        margins = (low[row] - logits[self.off]) / threshold[row]
        return margins, float(((high - low) / threshold).max())

    def sums(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " m"]:
        """The sum over the pairs of each context."""
        return np.add.reduceat(values, self.starts[:-1])  # no support is empty

    def centred(
        self, values: Float[np.ndarray, " n"], face: Bool[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """Zero off a face, and on it the values minus their mean over it, context by context."""
        inside = np.where(face, values, 0.0)
        means = self.sums(inside) / self.sums(face.astype(float))
        return np.where(face, inside - means[self.row], 0.0)

    def solve(
        self,
        residual: Float[np.ndarray, " n"],
        face: Bool[np.ndarray, " n"],
        rows: Float[np.ndarray, "m d"],
        steps: int,
    ) -> tuple[Float[np.ndarray, " n"], int]:
        """Δ on a face with Δ1 = 0 and centred(rows rowsᵀ Δ) = `residual`, by conjugate gradients to
        single precision, and how many products it took: `steps` at most. `residual` must sum to 0
        on each row to a small part of its size: what no Δ gives is not reduced, but blown up.

        Where the curvature along a direction is lost in rounding, the Δ so far.
        """
        residual = residual.copy()
        solution, direction = np.zeros_like(residual), residual.copy()
        squared = first = float(residual @ residual)
        for products in range(steps):
            if squared <= FALLEN**2 * first:
                return solution, products
            image = self.centred(self.product(direction, rows), face)
            curvature = float(direction @ image)
            if curvature <= 0:
                return solution, products + 1
            solution += (squared / curvature) * direction
            residual -= (squared / curvature) * image
            following = float(residual @ residual)
            direction = residual + (following / squared) * direction
            squared = following
        return solution, steps

    def project(
        self, values: Float[np.ndarray, " n"], level: Float[np.ndarray, " m"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " m"]]:
        """The nearest Γ with Γ1 = 0 and Γ ≤ 0 off the supports, and its level ν: Γ is x − ν on the
        support and min(x − ν, 0) off it, as in `ntpcompanion.linear.svm.dual_problem.project_`.
        """
        total = self.sums(np.where(self.inside, values, 0.0))
        x, row, m, falling = values[self.off], self.row[self.off], self.shape[0], False
        for _ in range(NEWTON_STEPS):
            below = np.minimum(x - level[row], 0.0)
            slope = self.sizes + np.bincount(row, below < 0, minlength=m)
            rest = np.bincount(row, below, minlength=m) + total - self.sizes * level
            step = rest / slope
            if falling and (step >= -ROUNDING * np.abs(level)).all():
                break
            level, falling = level + (np.minimum(step, 0.0) if falling else step), True
        gamma = values - level[self.row]
        gamma[self.off] = np.minimum(x - level[row], 0.0)
        return gamma, level

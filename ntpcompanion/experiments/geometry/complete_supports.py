"""All supports of one size: are words and contexts where the paper's closed forms say?"""

from math import comb
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.geometry.nuclear_svm import solve_nuclear_svm
from ntpcompanion.geometry.ridge_minimizers import balanced_factors
from ntpcompanion.geometry.supports import all_supports, centred_support


class Plan(experiment.Plan):
    """Vocabularies, each with the supports of every size from 1 to V − 1."""

    vocab_sizes: Annotated[
        tuple[Annotated[int, Field(ge=3, le=12)], ...], Field(min_length=1, description="V")
    ] = (5, 6, 7)


class Size(experiment.Result):
    """All supports of k among V tokens. Errors are the largest differences from the formulas."""

    V: int
    k: int
    values: Annotated[float, Field(description="relative error of the singular values")]
    away: Annotated[float, Field(description="relative distance of the solution from the proxy")]
    angles: Annotated[float, Field(description="error of a cosine of words or of contexts")]
    meets: Annotated[float, Field(description="cosine of a context and a word that can follow")]
    longer: Annotated[float, Field(description="length of a word over that of a context")]
    printed: Annotated[float, Field(description="what the paper prints for `meets`")]
    corrected: Annotated[float, Field(description="the same, corrected")]


class Result(experiment.Result):
    """The sizes of all vocabularies."""

    sizes: tuple[Size, ...]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each V and k."""
        return table_of(self.sizes)

    def size(self, V: int, k: int) -> Size:
        """The supports of k among V tokens."""
        return next(size for size in self.sizes if (size.V, size.k) == (V, k))

    def error(self, column: str) -> float:
        """The largest: of `away` or `angles`, or of the `printed` or `corrected` cosine."""
        table = self.table
        formula = column in ("printed", "corrected")
        return float((abs(table[column] - table.meets) if formula else table[column]).max())

    @property
    def least_length(self) -> float:
        """Of `longer`, where more than one token can follow."""
        return float(self.table.query("k > 1").longer.min())


def run(plan: Plan) -> Result:
    """Solve the nuclear-norm SVM on all supports of one size, and compare solution, singular values
    and angles with proposition 2 and equation 40 of Zhao et al. (2024).

    Returns errors of the closed forms for each number of tokens and size of the supports. Nothing
    is random. Cost that of `solve_nuclear_svm` for V! / (k! (V − k)!) contexts.

    Examples
    --------
    >>> from ntpcompanion.experiments.geometry import complete_supports
    >>> table = complete_supports.run(complete_supports.Plan(vocab_sizes=(4,))).table
    >>> bool(table.away.max() < 1e-4), bool(table.angles.max() < 1e-6)
    (True, True)
    """
    return Result(sizes=tuple(_size(V, k) for V in plan.vocab_sizes for k in range(1, V)))


def _size(V: int, k: int) -> Size:
    support = all_supports(V, k)
    logits, proxy = solve_nuclear_svm(support, tol=1e-10).logits, centred_support(support)
    values = np.linalg.svd(proxy, compute_uv=False)[: V - 1]
    H, W = balanced_factors(proxy, V - 1)
    h, w = (factor / np.linalg.norm(factor, axis=1, keepdims=True) for factor in (H, W))
    common = (1.0 * support) @ support.T
    words = np.eye(V) - (1 - np.eye(V)) / (V - 1)
    contexts = (common - k * k / V) / (k - k * k / V)
    return Size(
        V=V,
        k=k,
        values=np.abs(values / np.sqrt(comb(V - 2, k - 1)) - 1).max(),
        away=float(np.linalg.norm(logits - proxy) / np.linalg.norm(proxy)),
        angles=max(np.abs(w @ w.T - words).max(), np.abs(h @ h.T - contexts).max()),
        meets=(h @ w.T)[support].mean(),
        longer=float(np.linalg.norm(W[0]) / np.linalg.norm(H[0])),
        printed=np.sqrt((V - 1) / (k * (V - k))),
        corrected=np.sqrt((V - k) / (k * (V - 1))),
    )

"""Measured phase diagrams: at which d/m random tables become separable, with nothing undecided left
out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int, Integer
from scipy.stats import binomtest

from ntpcompanion.checks import Range, Shape, Size, checked
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.linear.thresholds.crossing import separability_crossing


@dataclass(frozen=True, eq=False)
class ShareCurve:
    """Fractions of draws against the dimension d; `ratio` is d/m. `separable` counts draws proved
    separable, `undecided` those without a proof either way. `lowest` and `highest` are the Wilson
    interval of one standard error (68.3 %): the lower end counts undecided draws as not separable,
    the upper as separable.
    """

    dim: Int[np.ndarray, " k"]
    ratio: Float[np.ndarray, " k"]
    separable: Float[np.ndarray, " k"]
    lowest: Float[np.ndarray, " k"]
    highest: Float[np.ndarray, " k"]
    undecided: Float[np.ndarray, " k"]


@dataclass(frozen=True, eq=False)
class CrossingSample:
    """Where n draws of tables with m contexts become separable: the largest d at which each was
    proved not separable, 0 if there is none, and the smallest at which it was proved separable, m +
    1 if there is none. Any d between the two is undecided.
    """

    num_contexts: int
    not_separable_to: Int[np.ndarray, " n"]
    separable_from: Int[np.ndarray, " n"]

    @property
    def undecided(self) -> float:
        """The share of draws with an undecided dimension."""
        return float(np.mean(self.separable_from - self.not_separable_to > 1))

    @property
    def crossing(self) -> float:
        """The d/m at which half of the draws are separable, by linear interpolation; undecided
        draws count half on either side.
        """
        return sum(self._extremes()) / 2

    @property
    def stderr(self) -> float:
        """The standard error of `crossing`: that of a median of normal draws, joined with half the
        distance of the two extremes.

        The spread of the draws is taken to be no less than that of a uniform distribution
        over one dimension, which is all a draw tells.
        """
        low, high = self._extremes()
        middle = (self.not_separable_to + self.separable_from) / 2
        spread = max(middle.std(ddof=1), 12**-0.5) / self.num_contexts
        return float(np.hypot(np.sqrt(np.pi / 2 / len(middle)) * spread, (high - low) / 2))

    @checked
    def shares(
        self,
        dims: Annotated[
            Integer[np.ndarray, " k"] | Sequence[int],
            Shape("k", integers=True),
            Range(1, "self.num_contexts"),
        ],
    ) -> ShareCurve:
        """The shares of draws that are separable, and undecided, at the dimensions `dims` (k,).

        Raises ValueError unless they lie in 1 … m. Cost O(k n).
        """
        dims = np.asarray(dims)
        n = len(self.separable_from)
        separable = (self.separable_from <= dims[:, None]).sum(axis=1)
        possible = (self.not_separable_to < dims[:, None]).sum(axis=1)
        lowest = [_wilson(count, n)[0] for count in separable.tolist()]
        highest = [_wilson(count, n)[1] for count in possible.tolist()]
        ends = np.array(lowest), np.array(highest)
        return ShareCurve(
            dims, dims / self.num_contexts, separable / n, *ends, (possible - separable) / n
        )

    def _extremes(self) -> tuple[float, float]:
        """The crossing if all undecided dimensions were separable, and if none were."""
        first = self.not_separable_to + 1, self.separable_from
        return tuple(_half(draws) / self.num_contexts for draws in first)  # type: ignore[return-value]  # two


@checked
def table_of_sizes(
    support_sizes: Annotated[
        Integer[np.ndarray, " m"] | Sequence[int],
        Shape("m", integers=True),
        Range(1, "vocab_size"),
    ],
    vocab_size: Size,
    dim: Size,
    rng: np.random.Generator,
) -> ContextTable:
    """One context for each support size: N(0, 1) embeddings, supports uniform among those of that
    size, equal odds on them.

    Raises ValueError unless the sizes lie in 1 … `vocab_size`, one of them below it, and `dim` is
    at least 1. Cost O(m (V + d)).
    """
    sizes = np.asarray(support_sizes)
    rank = rng.random((len(sizes), vocab_size)).argsort(axis=1).argsort(axis=1)
    next_token = (rank < sizes[:, None]) / sizes[:, None]
    return ContextTable(
        rng.standard_normal((len(sizes), dim)), next_token, np.full(len(sizes), 1 / len(sizes))
    )


def crossing_sample(
    tables: Iterable[ContextTable], *, max_iterations: int = 6_300
) -> CrossingSample:
    """Where each table becomes separable as coordinates of its embeddings are added: one bisection
    decides all dimensions.

    Each table has d = m coordinates, of which the first d are those of the table in d dimensions.
    Cost log2(m) checks a table: 0.05 s at V = 10, m = 40, and 1 s at m = 320. Raises `ValueError`
    for fewer than two tables, or tables of other shapes.
    """
    shapes, sides = set(), []
    for table in tables:
        shapes.add((table.num_contexts, table.dim))
        crossing = separability_crossing(table, max_iterations=max_iterations)
        sides.append((crossing.not_separable_to, crossing.separable_from or table.dim + 1))
    if len(sides) < 2:
        raise ValueError(
            f"`tables` must hold at least 2 tables to estimate an error, got {len(sides)}."
        )
    if len(shapes) > 1 or len(set(min(shapes))) > 1:
        raise ValueError(
            f"`tables` must all have the same m, and m coordinates; got (m, d) = {sorted(shapes)}."
        )
    return CrossingSample(min(shapes)[0], *np.array(sides).T)


def _half(first: Int[np.ndarray, " n"]) -> float:
    """The d at which half of the draws have begun, between whole numbers by linear interpolation;
    `first` holds where each begins.
    """
    dims = np.arange(first.min() - 1, first.max() + 1)
    fraction = (first <= dims[:, None]).mean(axis=1)
    after = int(np.argmax(fraction >= 0.5))
    return float(dims[after] - (fraction[after] - 0.5) / (fraction[after] - fraction[after - 1]))


def _wilson(count: int, n: int) -> tuple[float, float]:
    interval = binomtest(count, n).proportion_ci(confidence_level=0.6827, method="wilson")
    return interval.low, interval.high

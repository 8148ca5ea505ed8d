"""Both conditions of the paper, compatible and separable, decided for many tables."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from ntpcompanion.checks import checked
from ntpcompanion.linear.separability.compatibility import CompatibilityVerdict, check_compatibility
from ntpcompanion.linear.separability.decision import Verdict, check_separability
from ntpcompanion.linear.tables.contexts import ContextTable


@dataclass(frozen=True, eq=False)
class VerdictShares:
    """Fractions of the tables of each dimension d, in increasing order; `ratio` is d/m.
    `compatible` and `separable` count tables with a proof that they are, `undecided` those on which
    at least one of the two checks found no proof either way.
    """

    dim: Int[np.ndarray, " k"]
    ratio: Float[np.ndarray, " k"]
    compatible: Float[np.ndarray, " k"]
    separable: Float[np.ndarray, " k"]
    undecided: Float[np.ndarray, " k"]


@dataclass(frozen=True, eq=False)
class Decisions:
    """What is proved of n tables with m contexts each.

    `compatible` and `separable` are False for a table that was refuted or is undecided. `undecided`
    says that at least one of the two checks found no proof either way. `residual` is the largest
    error of a log-odds in `check_compatibility`, in nats. `holds` says whether the proof about
    separability passes `Separability.verify`.
    """

    num_contexts: int
    dim: Int[np.ndarray, " n"]
    compatible: Bool[np.ndarray, " n"]
    separable: Bool[np.ndarray, " n"]
    undecided: Bool[np.ndarray, " n"]
    residual: Float[np.ndarray, " n"]
    holds: Bool[np.ndarray, " n"]

    def shares(self) -> VerdictShares:
        """The fraction of the tables of each dimension for which each verdict was reached."""
        dims, index = np.unique(self.dim, return_inverse=True)
        numbers = np.bincount(index)
        fractions = (
            np.bincount(index, weights=verdicts) / numbers
            for verdicts in (self.compatible, self.separable, self.undecided)
        )
        return VerdictShares(dims, dims / self.num_contexts, *fractions)


def decide_tables(tables: Iterable[ContextTable]) -> Decisions:
    """Decide for each table whether it is compatible and whether it is separable (Thrampoulidis
    2024, equations 4 and 6), and check the proofs about separability.

    Tables are taken one at a time. Raises `ValueError` where there are none, or their numbers of
    contexts differ.
    """
    contexts, rows = set(), []
    for table in tables:
        odds, margins = check_compatibility(table), check_separability(table)
        undecided = (
            odds.verdict is CompatibilityVerdict.UNDECIDED or margins.verdict is Verdict.UNDECIDED
        )
        contexts.add(table.num_contexts)
        rows.append(
            (
                table.dim,
                odds.verdict is CompatibilityVerdict.COMPATIBLE,
                margins.verdict is Verdict.SEPARABLE,
                undecided,
                odds.residual,
                margins.verify(table).holds,
            )
        )
    if len(contexts) != 1:
        raise ValueError(
            "`tables` must hold at least one table, all with the same number of contexts, got "
            f"{sorted(contexts)}."
        )
    return Decisions(contexts.pop(), *map(np.array, zip(*rows, strict=True)))


@checked
def share_of(outcomes: Bool[np.ndarray, " n"]) -> tuple[float, float]:
    """The fraction of n independent draws with an outcome, and its standard error.

    The error is that of a binomial fraction with one more success and one more failure, so that it
    is positive even where all draws agree. Raises ValueError without draws.
    """
    n = len(outcomes)
    guess = (np.sum(outcomes) + 1) / (n + 2)
    return float(np.mean(outcomes)), float(np.sqrt(guess * (1 - guess) / n))

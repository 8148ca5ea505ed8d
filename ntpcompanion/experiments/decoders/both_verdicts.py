"""Which tables have a decoder at the floor: random ones and a text against the dimension, and small
ones where the loss is minimized.
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.experiments.thresholds.text_plan import TextPlan
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.languages.text.counting import count_contexts
from ntpcompanion.languages.text.segmentation import split_text
from ntpcompanion.languages.text.words import encode
from ntpcompanion.linear.dynamics.excess_bounds import (
    excess_bound,
    excess_lower_bound,
    penalized_minima,
)
from ntpcompanion.linear.separability.both_conditions import Decisions, decide_tables, share_of
from ntpcompanion.linear.separability.compatibility import CompatibilityVerdict, check_compatibility
from ntpcompanion.linear.separability.decision import check_separability
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, estimate

INPUTS = ("text",)  # fields of a plan that name files
LARGEST_LENGTH, LENGTHS = 40, 21  # multiples of the separating decoder at which the text's loss is
RATIOS = np.linspace(0.1, 1.5, 29)  # d/m of random tables


def three_contexts(third: tuple[float, float]) -> ContextTable:
    """The chapter's example: a or b after (1, 0), a after (0, 1), b after the third context."""
    p = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    return ContextTable(np.array([[1.0, 0.0], [0.0, 1.0], third]), p, np.full(3, 1 / 3))


def penalized_path(table: ContextTable) -> Float[np.ndarray, "2 29"]:
    """Norms and excess losses of the minima for falling penalties on the squared norm."""
    path = penalized_minima(table, np.geomspace(1, 1e-7, 29))
    return np.transpose([(np.linalg.norm(W), table.excess(W)) for W in path])


class Plan(TextPlan):
    """A text, random tables of one shape, and small ones."""

    text_dims: Annotated[int, Field(ge=2, description="dimensions tried on the text, m/40 to m")]
    text_draws: Annotated[int, Field(ge=1, description="of the text's embeddings at each")]
    num_contexts: Annotated[int, Field(ge=2, description="m of the random tables")]
    random_vocab: Annotated[int, Field(ge=2, description="V of the random tables")]
    support_size: Annotated[int, Field(ge=1, description="S_j of the random tables, tokens")]
    random_draws: Annotated[int, Field(ge=1, description="random tables at each dimension")]
    small_tables: Annotated[int, Field(ge=1, description="on which the loss is minimized")]
    seed: Annotated[int, Field(ge=0, description="of embeddings, distributions and supports")]

    def table(self, dim: int, name: str) -> ContextTable:
        """A random table."""
        shape = self.num_contexts, self.random_vocab, self.support_size, dim
        return ContextTable.random(*shape, stream(self.seed, name))


class Decided(experiment.Result):
    """The fields of `Decisions`: what is proved of each table."""

    num_contexts: int
    dim: tuple[int, ...]
    compatible: tuple[bool, ...]
    separable: tuple[bool, ...]
    undecided: tuple[bool, ...]
    residual: tuple[float, ...]
    holds: tuple[bool, ...]

    @property
    def decisions(self) -> Decisions:
        """The same with arrays."""
        m, *columns = vars(self).values()
        return Decisions(m, *map(np.array, columns))

    @property
    def shares(self) -> pd.DataFrame:
        """The fraction of tables with each verdict, a row for each dimension d."""
        names = {"dim": "d", "ratio": "d/m"}
        return pd.DataFrame(vars(self.decisions.shares())).rename(columns=names)


class Minimum(experiment.Result):
    """The infimum of the excess loss of a small table."""

    holds: Annotated[bool, Field(description="whether both conditions do")]
    reached: Annotated[float, Field(description="by minimization (nats)")]
    bound: Annotated[float, Field(description="from below, by the proofs against them (nats)")]


class Result(experiment.Result):
    """Verdicts, and losses where both conditions hold and where they do not."""

    random: Decided
    text: Decided
    counted: Annotated[
        tuple[bool, ...], Field(description="compatible, with one dimension more than equations")
    ]
    minima: Annotated[
        tuple[Minimum, ...], Field(description="third context (1, 1), then (1, −1), then random")
    ]
    enough: Annotated[int, Field(description="fewest d at which the text always has both")]
    excess: Annotated[tuple[float, ...], Field(description="of the text there, at `lengths`")]
    bounds: Annotated[tuple[float, ...], Field(description="on it")]
    mean_support: Annotated[float, Field(description="of the text's contexts, tokens")]
    about: Annotated[str, Field(description="the text in words")]

    @property
    def lengths(self) -> Float[np.ndarray, " 21"]:
        """Multiples of the separating decoder."""
        return np.linspace(0, LARGEST_LENGTH, LENGTHS)

    @property
    def both_fail(self) -> int:
        """Random tables with at least as many dimensions as contexts that lack a condition."""
        verdicts = self.random.decisions
        both = verdicts.compatible & verdicts.separable
        return int((~both[verdicts.dim >= verdicts.num_contexts]).sum())

    @property
    def by_count(self) -> Effect:
        """Compatible tables where the equations are as many as the unknowns, or fewer."""
        return estimate(*share_of(np.array(self.counted)), len(self.counted))

    @property
    def enough_over_contexts(self) -> float:
        """The fewest dimensions at which the text always has both, over its number of contexts."""
        return self.enough / self.text.num_contexts

    @property
    def separable_in_few(self) -> Effect:
        """Separable random tables in the fewest dimensions."""
        verdicts = self.random.decisions
        outcomes = verdicts.separable[verdicts.dim == verdicts.dim.min()]
        return estimate(*share_of(outcomes), len(outcomes))

    @property
    def farthest(self) -> float:
        """The largest infimum of the excess loss that is reached where both conditions hold."""
        return max(one.reached for one in self.minima if one.holds)

    @property
    def nearest(self) -> float:
        """The least that is reached where one of them fails."""
        return min(one.reached for one in self.minima if not one.holds)

    @property
    def minima_table(self) -> pd.DataFrame:
        """A row for each small table."""
        return table_of(self.minima)


def run(plan: Plan) -> Result:
    """Decide for random tables and for a text whether they are compatible and separable, with a
    proof of each verdict, and minimize the loss of small tables.

    Returns verdicts by dimension, minima of the loss, and the loss of the text on its way to the
    floor. Cost that of `decide_tables`: 20 s for the chapter's plan.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError
        as `read_text`, `split_text` and `encode`; no dimension at which the text has both.

    Examples
    --------
    >>> from ntpcompanion.experiments import both_verdicts
    >>> text = {"num_words": 60, "vocab_size": 8, "context_length": 1, "text_dims": 3}
    >>> size = {"num_contexts": 6, "random_vocab": 4, "support_size": 2, "random_draws": 2}
    >>> plan = both_verdicts.Plan(**text, **size, text_draws=1, small_tables=1, seed=0)
    >>> found = both_verdicts.run(plan)
    >>> found.both_fail, [one.holds for one in found.minima[:2]]
    (0, [False, True])
    """
    split = split_text(read_text(plan.text).content, plan.tokenizer)
    tokens = encode(split.first(plan.num_words), plan.vocab_size).tokens
    counts = count_contexts(tokens, plan.vocab_size, [plan.context_length])[0]
    m = counts.num_contexts

    def text_table(dim: int, name: str) -> ContextTable:
        shape = plan.vocab_size, plan.context_length, dim
        return ContextTable.from_tokens(tokens, *shape, stream(plan.seed, name))

    dims = np.unique(np.round(plan.num_contexts * RATIOS).astype(int).clip(1)).tolist()
    grid = np.round(np.geomspace(m / 40, m, plan.text_dims)).astype(int).clip(1)
    text_dims = np.unique(grid).tolist()
    text = _decided(
        text_table(d, f"text {d} {k}") for d in text_dims for k in range(plan.text_draws)
    )
    shares = text.shares
    both = shares.d[(shares.compatible == 1) & (shares.separable == 1)]
    if both.empty:
        raise ValueError(f"`text_dims`: no dimension to {m} gives the text both. Take more.")
    enough = int(both.min())
    excess, bounds = _on_the_way(text_table(enough, f"text {enough} 0"))
    return Result(
        random=_decided(
            plan.table(d, f"random table {d} {k}") for d in dims for k in range(plan.random_draws)
        ),
        text=text,
        counted=tuple(_counted(plan)),
        minima=tuple(map(_minimum, _small(plan))),
        enough=enough,
        excess=excess,
        bounds=bounds,
        mean_support=float(counts.support_sizes.mean()),
        about=split.about,
    )


def _decided(tables: Iterator[ContextTable]) -> Decided:
    columns = vars(decide_tables(tables))
    m = columns.pop("num_contexts")
    return Decided(num_contexts=m, **{name: tuple(x.tolist()) for name, x in columns.items()})


def _counted(plan: Plan) -> Iterator[bool]:
    equations = plan.num_contexts * (plan.support_size - 1)
    dim = -(-equations // (plan.random_vocab - 1)) + 1
    for draw in range(plan.random_draws):
        verdict = check_compatibility(plan.table(dim, f"counted {draw}")).verdict
        yield verdict is CompatibilityVerdict.COMPATIBLE


def _small(plan: Plan) -> Iterator[ContextTable]:
    """Both examples, and random tables with whole coordinates."""
    yield from map(three_contexts, ((1.0, 1.0), (1.0, -1.0)))
    rng = stream(plan.seed, "small tables")
    for _ in range(plan.small_tables):
        m, V = int(rng.integers(2, 7)), int(rng.integers(2, 5))
        S, d = int(rng.integers(1, V)), int(rng.integers(1, m + 1))
        drawn = ContextTable.random(m, V, S, d, rng)
        yield ContextTable(np.rint(2 * drawn.embeddings), drawn.next_token, drawn.weight)


def _minimum(table: ContextTable) -> Minimum:
    answers = check_separability(table), check_compatibility(table)
    proofs = [answer.certificate for answer in answers if answer.certificate is not None]
    return Minimum(
        holds=not proofs,
        reached=float(table.excess(penalized_minima(table, [0.0])[0])),
        bound=max((excess_lower_bound(table, proof) for proof in proofs), default=0.0),
    )


def _on_the_way(table: ContextTable) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Excess losses of W* and more and more of a separating decoder, and the bounds on them."""
    matched = check_compatibility(table).finite_part
    apart = np.asarray(check_separability(table).weights)
    lengths = np.linspace(0, LARGEST_LENGTH, LENGTHS)
    excess = tuple(float(table.excess(matched + g * apart)) for g in lengths)
    return excess, tuple(float(excess_bound(table, matched, g)) for g in lengths)

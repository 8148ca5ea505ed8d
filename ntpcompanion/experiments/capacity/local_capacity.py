"""Both steps of the capacity theorem of Madden, Fox and Thrampoulidis (2025) at random parameters:
a Jacobian of full rank, and attention that is injective on contexts.
"""

from collections.abc import Iterator
from typing import Annotated

import pandas as pd
from pydantic import Field

from ntpcompanion.capacity.decoder import sinusoidal_positions
from ntpcompanion.capacity.injectivity import all_contexts, attend_last, count_collisions
from ntpcompanion.capacity.jacobian import Activation, generic_rank, logit_jacobian, rank_by_gap
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.randomness import stream

NETWORKS = ((7, 6, 8), (11, 4, 12), (5, 10, 6))  # V tokens, d inputs, m hidden units
# the last one is a power, which loses rank
ACTIVATIONS: tuple[Activation, ...] = ("tanh", "gelu", "sine", "cube")
ALPHABET, DIM = 4, 8  # tokens of the enumerated contexts, and dimensions of their vectors


class Plan(experiment.Plan):
    """Random networks of fixed sizes, and all contexts up to a length."""

    longest: Annotated[int, Field(ge=2, description="tokens of the longest context")]
    seed: Annotated[int, Field(ge=0, description="of parameters and inputs")]


class Ranks(experiment.Result):
    """The Jacobian of the logit differences of a network with one hidden layer."""

    V: Annotated[int, Field(description="tokens")]
    d: Annotated[int, Field(description="inputs")]
    m: Annotated[int, Field(description="hidden units")]
    k: Annotated[int, Field(description="parameters, m (V + d + 1)")]
    N: Annotated[int, Field(description="contexts")]
    max_contexts: Annotated[int, Field(description="⌊(k − m) / (V − 1)⌋ contexts")]
    activation: str
    rank: int
    last: Annotated[int, Field(description="rank of the derivatives by the last layer alone")]
    above_cut: Annotated[float, Field(description="smallest singular value that counts, relative")]
    below_cut: Annotated[float, Field(description="largest other one; 0 if there is none")]
    generic: Annotated[int, Field(description="min(N (V − 1), k − m)")]


class Result(experiment.Result):
    """Ranks, and pairs of contexts that get the same vector."""

    networks: tuple[Ranks, ...]
    collisions: Annotated[
        dict[str, int], Field(description="pairs of contexts with one vector, by kind of attention")
    ]
    closest: Annotated[
        float, Field(description="smallest distance of two vectors, attention with positions")
    ]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each network and number of contexts, without those of the power."""
        table = table_of(self.networks)
        return table[table.activation != "cube"]

    @property
    def rank_error(self) -> int:
        """Largest difference of a rank from min(N (V − 1), k − m), without those of the power."""
        return int((self.table["rank"] - self.table.generic).abs().max())

    @property
    def power_error(self) -> int:
        """Largest difference of the rank of the power from k − 2m, for three times as many
        contexts as can be stored.
        """
        powers = [one for one in self.networks if one.activation == "cube"]
        return max(
            abs(one.rank - one.k + 2 * one.m) for one in powers if one.N == 3 * one.max_contexts
        )

    @property
    def gap(self) -> float:
        """Smallest ratio of the two singular values beside the cut."""
        beyond = self.table[self.table.below_cut > 0]
        return float((beyond.above_cut / beyond.below_cut).min())


def run(plan: Plan) -> Result:
    """Compute the ranks of Jacobians of random networks, and count pairs of contexts that one head
    of attention maps to the same vector.

    Returns ranks beside what dimensions allow, and collisions with attention and with averages.
    The cost is that of the singular values of 84 Jacobians and of the distances between all
    contexts of up to `longest` tokens: 2 s for 5.

    Examples
    --------
    >>> from ntpcompanion.experiments.capacity import local_capacity
    >>> found = local_capacity.run(local_capacity.Plan(longest=3, seed=0))
    >>> found.rank_error, found.collisions["positions"], found.collisions["average"] > 0
    (0, 0, True)
    """
    contexts, rng = all_contexts(ALPHABET, plan.longest), stream(plan.seed, "attention")
    tokens, scores = rng.standard_normal((ALPHABET, DIM)), rng.standard_normal((DIM, DIM))
    positions = sinusoidal_positions(plan.longest, DIM).numpy()[:, None]
    cases = {
        "positions": (tokens + positions, 0.3 * scores),
        "no positions": (tokens + 0 * positions, 0.3 * scores),
        "average": (tokens + positions, 0 * scores),
        "average, table": (rng.standard_normal((plan.longest, ALPHABET, DIM)), 0 * scores),
    }
    pairs = {name: count_collisions(attend_last(contexts, *case)) for name, case in cases.items()}
    return Result(
        networks=tuple(row for sizes in NETWORKS for row in _ranks(plan, *sizes)),
        collisions={name: distances.collisions for name, distances in pairs.items()},
        closest=pairs["positions"].closest,
    )


def _ranks(plan: Plan, V: int, d: int, m: int) -> Iterator[Ranks]:
    bound = m * (V + d) // (V - 1)
    for activation in ACTIVATIONS:
        rng = stream(plan.seed, f"network {V} {d} {m}")
        W, b, U = (rng.standard_normal(shape) for shape in ((m, d), m, (V, m)))
        x = rng.standard_normal((3 * bound, d))
        for N in sorted({2, m // 2, m, bound - 1, bound, bound + 1, 3 * bound}):
            J = logit_jacobian(x[:N], W, b, U, activation)
            full = rank_by_gap(J)
            yield Ranks(
                V=V,
                d=d,
                m=m,
                k=m * (V + d + 1),
                N=N,
                max_contexts=bound,
                activation=activation,
                rank=full.rank,
                last=rank_by_gap(J[:, : V * m]).rank,
                above_cut=full.above_cut,
                below_cut=full.below_cut,
                generic=generic_rank(N, V, d, m),
            )

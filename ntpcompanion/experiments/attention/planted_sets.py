"""Data sets of planted tokens, all of one size, that are trained side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ntpcompanion.attention.planted_data import (
    PlantedTokens,
    TokenSequences,
    plant_tokens,
    stack_sequences,
)
from ntpcompanion.attention.steps import AttentionPath, Gradient, Method, descend_attention
from ntpcompanion.attention.wsvm import WSVMSolution, solve_w_svm
from ntpcompanion.randomness import stream


@dataclass(frozen=True, eq=False)
class PlantedSets:
    """What `draw_sets` draws: each data set, and all of them along a first axis."""

    drawn: list[PlantedTokens]
    sequences: TokenSequences
    decoders: Float[np.ndarray, "sets d"]
    best: Int[np.ndarray, "sets n"]

    def on_best(self, per_token: Float[np.ndarray, "sets n T"]) -> Float[np.ndarray, "sets n"]:
        """The entries of the best tokens."""
        return np.take_along_axis(per_token, self.best[..., None], -1)[..., 0]

    def solve(self) -> tuple[list[WSVMSolution], Float[np.ndarray, "sets d k"]]:
        """The SVM of each data set, and all W_mm."""
        solutions = [solve_w_svm(one.sequences, one.best) for one in self.drawn]
        return solutions, np.stack([np.asarray(one.weights) for one in solutions])

    def descend(
        self,
        keep: Sequence[int] | Int[np.ndarray, " s"],
        learning_rate: float,
        *,
        method: Method = "ngd",
        gradient: Gradient = "log",
    ) -> AttentionPath:
        """`descend_attention` from zero, on all data sets."""
        return descend_attention(
            self.sequences,
            self.decoders,
            keep=keep,
            learning_rate=learning_rate,
            method=method,
            gradient=gradient,
        )


def draw_sets(
    seed: int, how_many: int, *, dim: int, count: int = 20, length: int = 6
) -> PlantedSets:
    """Draw data sets of `count` sequences of `length` tokens in `dim` dimensions. A larger number
    of data sets begins with the same ones.
    """
    rngs = [stream(seed, f"{count} {length} {dim} {k}") for k in range(how_many)]
    drawn = [plant_tokens(rng, count=count, length=length, dim=dim) for rng in rngs]
    return PlantedSets(
        drawn,
        stack_sequences([one.sequences for one in drawn]),
        np.stack([one.decoder for one in drawn]),
        np.stack([one.best for one in drawn]),
    )

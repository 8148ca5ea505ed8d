"""The dual of the next-token SVM on contexts that are divided among the machines of a cluster: the
blocked method of Ma et al. (2015), simulated on one machine.
"""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.checks import Range, Size, checked
from ntpcompanion.linear.svm.dual_problem import (
    HEADROOM,
    DualProblem,
    State,
    best_multiple,
    dot,
    largest_eigenvalue,
    project_,
)
from ntpcompanion.linear.svm.primal_recovery import UnitTable
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics.memory import check_dense

# (m, V) arrays at a time
DENSE_ARRAYS = 10


@checked
def blocked_ascent(
    table: ContextTable,
    *,
    blocks: Annotated[int, Range(1, "table.num_contexts", "(the number of contexts)")],
    local_steps: Size = 20,
) -> Iterator[Float[np.ndarray, "m V"]]:
    """Γ after each round of communication, without end: each block (context j in block j mod
    `blocks`) improves its rows alone by accelerated projected gradients from the last W = Γᵀ U, and
    changes are added, safely (CoCoA+, γ = 1, σ′ = `blocks`): the dual objective never falls. O(m²
    V) a local step. Raises ValueError for arguments out of range, or arrays beyond the machine's
    memory.
    """
    check_dense("table", DENSE_ARRAYS, table.next_token.shape)
    return _rounds(UnitTable(table, torch.float64, torch.device("cpu")), blocks, local_steps)


def _rounds(scaled: UnitTable, blocks: int, steps: int) -> Iterator[Float[np.ndarray, "m V"]]:
    problem, block = scaled.problem, torch.arange(len(scaled.lengths)) % blocks
    block_gram = torch.where(block[:, None] == block, problem.gram, 0.0)
    lipschitz = HEADROOM * blocks * largest_eigenvalue(block_gram)
    gamma, level = torch.zeros(scaled.support.shape, dtype=torch.float64), torch.zeros(len(block))
    level = level.to(torch.float64)
    while True:
        gamma, level = _round(problem, blocks * block_gram, lipschitz, gamma, level, steps)
        state = best_multiple(problem, State(gamma, problem.gram @ gamma, level, lipschitz))
        yield state.gamma.numpy() / scaled.lengths[:, None]


def _round(
    problem: DualProblem,
    block_gram: Float[Tensor, "m m"],
    lipschitz: float,
    gamma: Float[Tensor, "m V"],
    level: Float[Tensor, " m"],
    steps: int,
) -> tuple[Float[Tensor, "m V"], Float[Tensor, " m"]]:
    """Accelerated ascent of all blocks at once: `block_gram` couples contexts of one block only."""
    known = problem.gradient(problem.gram @ gamma)
    ahead, old, momentum = gamma, gamma, 1.0
    for _ in range(steps):
        new = torch.empty_like(gamma)
        uphill = ahead + (known - block_gram @ (ahead - gamma)) / lipschitz
        level = project_(problem, uphill, level, out=new)
        if dot(ahead - new, new - old) > 0:
            momentum, ahead = 1.0, new
        else:
            following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            ahead = new + (momentum - 1) / following * (new - old)
            momentum = following
        old = new
    return old, level

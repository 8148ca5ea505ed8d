"""Lemma D.3 by enumeration: which neurons take one positive value, and which of them never sit on a
kink of the ReLU.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Int

from ntpcompanion.checks import Is, checked
from ntpcompanion.dyck.sentences import Short, masked_support


@dataclass(frozen=True, eq=False)
class SingleValued:
    """Neurons w = (α; β), scaled to active value 2.

    Fields
    ------
    alphas
        (k, T), the parts on brackets, all different.
    half
        (k, T), the positions t where β_t must be +1 or −1; elsewhere β_t = 0. A row with r of them
        stands for 2^r neurons.
    at_kink
        (k,), whether some input has w·z = 0, so that the loss has no second derivative there.
    """

    alphas: Int[np.ndarray, "k T"]
    half: Bool[np.ndarray, "k T"]
    at_kink: Bool[np.ndarray, " k"]

    @property
    def count(self) -> int:
        """How many neurons these are, with all signs of β."""
        return int((2 ** self.half.sum(1)).sum())


LongEnough = Annotated[
    Short,
    Is(lambda T: T > 2, "be at least 4", "Of two brackets none can be swapped beside the mask."),
]


@checked
def single_valued_neurons(T: LongEnough) -> SingleValued:
    """All w ≠ 0 with w·z ∈ {0, 2} wherever f* = +1, for the random mask sign: Lemma D.3 says that
    there is one, 2(1; 0).

    Being 0 or less where f* = −1 follows, for −z is there. For one mask t, if a ⟨ at i and a ⟩ at j
    change places, α·z changes by 2(α_j − α_i). With both signs of the mask, either β_t = 0 and α·z
    ∈ {0, 2}, or β_t = ±1 and α·z = 1 always. So the entries of α differ by 0 or ±1, whatever real
    numbers they are: α = c + 1_S, and c + 1_S·z ∈ {0, 1, 2} on any one input leaves three c. All S
    and c are then tried on all inputs.

    Raises ValueError for T below 4, where there is no such pair, or one that is odd or too long.
    O(2^T N T); 0.3 s at T = 12.
    """
    inputs, targets = masked_support(T, "fixed")
    z = inputs.sum(1)[targets == 1]
    # without the full set, which is the empty one with another c
    subsets = (np.arange(2**T - 1)[:, None] >> np.arange(T)) & 1
    lowest, highest = _ranges(subsets, z)
    solutions = [
        _fitting(subsets, value - subsets @ z[0, :T], lowest, highest) for value in range(3)
    ]
    return SingleValued(*(np.concatenate(parts) for parts in zip(*solutions, strict=True)))


def _ranges(subsets: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest 1_S·z over the inputs with each mask; what lies between is reached
    in steps of 2.
    """
    T = subsets.shape[1]
    lowest, highest = np.empty_like(subsets), np.empty_like(subsets)
    for t in range(T):
        # small integers
        sums = subsets.astype(np.float32) @ z[z[:, T + t] != 0, :T].T.astype(np.float32)
        lowest[:, t], highest[:, t] = sums.min(1), sums.max(1)
    return lowest, highest


def _fitting(
    subsets: np.ndarray, c: np.ndarray, lowest: np.ndarray, highest: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """α, the positions with β = ±1 and the kinks, of those c + 1_S that satisfy the conditions at
    every mask.
    """
    low, high = lowest + c[:, None], highest + c[:, None]
    half = (low == 1) & (high == 1)
    whole = (low >= 0) & (high <= 2) & (low % 2 == 0)
    alphas = subsets + c[:, None]
    valid = (half | whole).all(1) & (alphas.any(1) | half.any(1))
    return alphas[valid], half[valid], (half | (low == 0))[valid].any(1)

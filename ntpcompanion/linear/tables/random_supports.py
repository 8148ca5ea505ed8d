"""Random supports of one size."""

import numpy as np
from jaxtyping import Int


def draw_supports(
    num_contexts: int, vocab_size: int, support_size: int, rng: np.random.Generator
) -> Int[np.ndarray, "m k"]:
    """The tokens of independent uniform supports of one size, in no order. Cost O(m V)."""
    drawn = rng.random((num_contexts, vocab_size))
    return drawn.argpartition(support_size - 1, axis=1)[:, :support_size]

"""Random hidden Markov models: in blocks, at the sizes of Liu et al. (2023), and without."""

import numpy as np
import torch
from jaxtyping import Float

from ntpcompanion.checks import Positive, Size, checked, need
from ntpcompanion.languages.hmm import HMM

# rows of `random_block_hmm` have no entry below: they would change nothing, but bring messages near
# the smallest float64, where sentences are computed again in log space, one by one
NEGLIGIBLE = 1e-12


@checked(
    need(
        "blocks",
        "states % blocks == 0 and vocab % blocks == 0",
        "divide `states` = {states} and `vocab` = {vocab}",
    )
)
def random_block_hmm(
    rng: np.random.Generator,
    *,
    states: Size = 100,
    vocab: Size = 200,
    length: Size = 16,
    blocks: Size = 5,
    transition_concentration: Positive = 1.0,
    emission_concentration: Positive = 1.0,
) -> HMM:
    """A random HMM whose transition and emission matrices are block-diagonal (Liu et al. 2023,
    appendix A.1); the defaults are its sizes.

    Block k owns states/blocks states and vocab/blocks words, so that a sentence stays in the block
    in which it starts and one word shows which one that is. The paper states neither the number of
    blocks nor the distributions: here the first state is uniform, and every row is a draw of a
    symmetric Dirichlet distribution over its block, by default with parameter 1, the uniform
    distribution on the simplex. At the paper's sizes the entropy floor is then 3.89 nats with 4
    blocks and 3.66 with the default of 5, on both sides of the 3.758 that the paper prints. In
    these languages the words of a sentence say little beyond its block; with smaller parameters
    few entries of a row carry it, and neighbouring words say more.

    Raises ValueError unless `blocks` is at least 1 and divides `states` and `vocab`, and both
    concentrations are positive and finite.

    Parameters
    ----------
    rng
        draws the tables.
    states, vocab
        how many states and words.
    length
        of the sentences that `sample` draws.
    blocks
        how many blocks.
    transition_concentration, emission_concentration
        the parameters of the Dirichlet distributions of the rows within a block. Entries below
        1e-12 are set to 0 and the row is normalized again.

    Returns
    -------
    HMM
        the language.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.languages import random_block_hmm
    >>> language = random_block_hmm(np.random.default_rng(0), states=4, vocab=6, length=5, blocks=2)
    >>> (language.emission > 0).int().tolist()
    [[1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1]]
    """
    transition, emission = np.zeros((states, states)), np.zeros((states, vocab))
    s, v = states // blocks, vocab // blocks
    for k in range(blocks):
        block = slice(k * s, (k + 1) * s)
        transition[block, block] = _random_rows(rng, s, s, transition_concentration)
        emission[block, k * v : (k + 1) * v] = _random_rows(rng, s, v, emission_concentration)
    return HMM(
        torch.full((states,), 1 / states, dtype=torch.float64),
        torch.tensor(transition),
        torch.tensor(emission),
        length,
    )


def _random_rows(
    rng: np.random.Generator, rows: int, columns: int, concentration: float
) -> Float[np.ndarray, "rows columns"]:
    """Rows of a symmetric Dirichlet distribution without negligible entries."""
    table = rng.dirichlet(np.full(columns, concentration), rows)
    thresholded = np.where(table < NEGLIGIBLE, 0.0, table)
    # rows that lose nothing stay as drawn, bit for bit
    return np.where(
        (thresholded == table).all(1, keepdims=True),
        table,
        thresholded / thresholded.sum(1, keepdims=True),
    )


@checked
def random_hmm(rng: np.random.Generator, *, states: Size, vocab: Size, length: Size) -> HMM:
    """A random HMM without blocks: every row of its tables is uniform on the simplex (Dirichlet
    with parameter 1), the distribution of the first state as well.

    Parameters
    ----------
    rng
        draws the tables: first state, transitions, emissions.
    states, vocab, length
        hidden states, words, and words of a sentence.

    Returns
    -------
    HMM

    Raises
    ------
    ValueError
        a size below 1, or what is not a generator.
    """
    initial = rng.dirichlet(np.ones(states))
    transition = rng.dirichlet(np.ones(states), states)
    emission = rng.dirichlet(np.ones(vocab), states)
    return HMM(  # type: ignore[call-arg]  # mypy does not count what a starred map holds
        *map(torch.tensor, (initial, transition, emission)), length
    )

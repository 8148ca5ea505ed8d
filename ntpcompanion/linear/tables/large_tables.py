"""Large tables that are separable because a random teacher was planted in them."""

from typing import Annotated

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from ntpcompanion.checks import NotNegative, Range, Size, checked
from ntpcompanion.linear.tables.contexts import BLOCK_ENTRIES, ContextTable

# Contexts on which the teacher's margin is below this share of its in-support logit are redrawn.
MIN_MARGIN = 0.25
ATTEMPTS = 1000


@checked
def planted_table(
    num_contexts: Size,
    vocab_size: Annotated[int, Range(2)],
    support_size: Annotated[int, Range(1, "min(vocab_size - 1, dim)", "(`vocab_size` − 1, `dim`)")],
    dim: Size,
    rng: np.random.Generator,
    *,
    noise: NotNegative = 1.0,
) -> ContextTable:
    """Contexts whose supports a random decoder separates exactly; equal frequencies.

    The teacher has a random row u_z of length 1 for each token. A context draws the size of its
    support uniformly from 1 … `support_size`, a random support of that size, and its embedding, the
    sum of the teacher's rows on the support plus noise, N(0, σ² / d) a coordinate with σ = `noise`.
    From this the teacher's differences within the support are projected out, so that the teacher
    ties the in-support logits exactly. A context is drawn again until the teacher's largest logit
    off the support is below 3/4 of those on it. A multiple of the teacher is thus feasible.

    Parameters
    ----------
    num_contexts, vocab_size, support_size, dim
        m; V; the largest S_j, below V and at most d; and d.
    rng
        draws everything.
    noise
        the length of the noise, relative to the rows of the teacher.

    Returns
    -------
    ContextTable
        sparse; the distributions are uniform on their supports.

    Raises
    ------
    ValueError
        sizes out of range, a negative `noise`, what is not a generator, or tables that have no
        contexts of this kind after 1000 attempts each: too few dimensions for so many tokens.

    Notes
    -----
    Cost 2 m V d operations, and 32 MiB beyond the table.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import check_separability
    >>> from ntpcompanion.linear.tables.large_tables import planted_table
    >>> table = planted_table(40, 12, 3, 16, np.random.default_rng(0))
    >>> check_separability(table).verdict.name
    'SEPARABLE'
    """
    m, V, max_size, d = num_contexts, vocab_size, support_size, dim
    teacher = rng.standard_normal((V, d))
    teacher /= np.linalg.norm(teacher, axis=1, keepdims=True)
    sizes = rng.integers(1, max_size + 1, m)
    supports, embeddings = np.zeros((m, max_size), dtype=np.int64), np.zeros((m, d))
    left = np.arange(m)
    for _ in range(ATTEMPTS):
        supports[left] = _draw_distinct(len(left), V, max_size, rng)
        for size in range(1, max_size + 1):
            rows = left[sizes[left] == size]
            embeddings[rows] = _tied(teacher[supports[rows, :size]], noise, rng)
        left = left[~_separated(teacher, supports[left], sizes[left], embeddings[left])]
        if not len(left):
            return _table(supports, sizes, embeddings, V)
    raise ValueError(
        f"`dim` is too small: {ATTEMPTS} attempts gave no embedding of {d} coordinates that a "
        f"teacher of {V} tokens separates with a margin. Take more, fewer tokens or less `noise`."
    )


def _draw_distinct(
    rows: int, vocab_size: int, size: int, rng: np.random.Generator
) -> Int[np.ndarray, "rows size"]:
    """Independent uniform samples without replacement, in O(size²) a row whatever V is."""
    drawn = np.empty((rows, size), dtype=np.int64)
    for k in range(size):
        drawn[:, k] = rng.integers(0, vocab_size - k, rows)
        # skip the tokens drawn before, in increasing order
        for before in np.sort(drawn[:, :k], axis=1).T:
            drawn[:, k] += drawn[:, k] >= before
    return drawn


def _tied(
    rows: Float[np.ndarray, "n S d"], noise: float, rng: np.random.Generator
) -> Float[np.ndarray, "n d"]:
    """Sums of rows plus noise, without the span of the differences of the rows."""
    n, _, d = rows.shape
    embeddings = rows.sum(axis=1) + noise / np.sqrt(d) * rng.standard_normal((n, d))
    differences = rows[:, 1:] - rows[:, :1]
    basis = np.linalg.qr(differences.transpose(0, 2, 1))[0]
    for _ in range(2):  # the second time removes the rounding of the first
        embeddings -= (basis @ (basis.transpose(0, 2, 1) @ embeddings[:, :, None]))[:, :, 0]
    return embeddings


def _separated(
    teacher: Float[np.ndarray, "V d"],
    supports: Int[np.ndarray, "n max_size"],
    sizes: Int[np.ndarray, " n"],
    embeddings: Float[np.ndarray, "n d"],
) -> np.ndarray:
    step, separated = max(1, BLOCK_ENTRIES // len(teacher)), np.zeros(len(sizes), dtype=bool)
    single = teacher.astype(np.float32)  # the margin is far above rounding
    for start in range(0, len(sizes), step):
        part = slice(start, start + step)
        logits = embeddings[part].astype(np.float32) @ single.T
        rows = np.arange(len(logits))
        level = logits[rows, supports[part, 0]].copy()
        for k in range(supports.shape[1]):
            listed = sizes[part] > k
            logits[rows[listed], supports[part][listed, k]] = -np.inf
        separated[part] = logits.max(axis=1) < (1 - MIN_MARGIN) * level
    return separated


def _table(
    supports: Int[np.ndarray, "m max_size"],
    sizes: Int[np.ndarray, " m"],
    embeddings: Float[np.ndarray, "m d"],
    vocab_size: int,
) -> ContextTable:
    m, max_size = supports.shape
    tokens = supports[np.arange(max_size) < sizes[:, None]]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    uniform = csr_array((1 / np.repeat(sizes, sizes), tokens, starts), shape=(m, vocab_size))
    return ContextTable(embeddings, uniform, np.full(m, 1 / m))

"""The language: balanced brackets with one of them masked, all of them, in both readings of what
the mask looks like.
"""

from itertools import combinations
from typing import Annotated, Literal, get_args

import numpy as np
from jaxtyping import Int

from ntpcompanion.checks import Is, checked
from ntpcompanion.validation import as_integer_array, check_shape

# All 22,176 masked inputs of length 12 fill 50 megabytes, and the kernel of all strings 130; at 14
# these would be 300 and 2,100.
MAX_LENGTH = 12


Even = Annotated[
    int,
    Is(
        lambda T: T > 1 and T % 2 == 0,
        "be even and at least 2",
        "A balanced sentence has as many ⟨ as ⟩.",
    ),
]
Short = Annotated[
    Even,
    Is(
        lambda T: T <= MAX_LENGTH,
        f"be at most {MAX_LENGTH}",
        "All sentences are enumerated, and longer ones do not fit in memory.",
    ),
]
MaskSign = Literal["random", "fixed"]
MASK_SIGNS: tuple[MaskSign, ...] = get_args(MaskSign)
Sentences = Annotated[
    Int[np.ndarray, "C T"],
    Is(
        lambda sentences: (np.abs(sentences) == 1).all() and not np.sum(sentences, 1).any(),
        "be rows of +1 and −1 with sum zero",
        "Use balanced_sentences.",
    ),
]


@checked
def balanced_sentences(T: Short) -> Int[np.ndarray, "C T"]:
    """All C(T, T/2) sentences with as many ⟨ (+1) as ⟩ (−1), as rows of signs. Raises ValueError
    for an odd T or one out of range.

    Parameters
    ----------
    T
        the length of a sentence, even.

    Returns
    -------
    (C, T) integer array
        the sentences, C = C(T, T/2).

    Examples
    --------
    >>> from ntpcompanion.dyck import balanced_sentences
    >>> balanced_sentences(4).tolist()[:3]
    [[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]
    """
    opened = np.array(list(combinations(range(T), T // 2)))
    signs = -np.ones((len(opened), T), dtype=np.int64)
    np.put_along_axis(signs, opened, 1, axis=1)
    return signs


def dyck_sentences(T: Short) -> Int[np.ndarray, "C T"]:
    """The balanced sentences in which no prefix has more ⟩ than ⟨: the brackets of arithmetic,
    Catalan(T/2) in number.

    The paper calls its language a variant of Dyck. It cannot mean these: its proofs swap positions
    and flip all signs, and this set is closed under neither (`closed_under_flip`,
    `closed_under_swaps`).

    Parameters
    ----------
    T
        the length of a sentence, even.

    Returns
    -------
    (C, T) integer array
        the sentences, as rows of signs.

    Examples
    --------
    >>> from ntpcompanion.dyck import dyck_sentences
    >>> dyck_sentences(4).tolist()
    [[1, 1, -1, -1], [1, -1, 1, -1]]
    """
    sentences = balanced_sentences(T)
    return sentences[(sentences.cumsum(1) >= 0).all(1)]


@checked
def mask_each(
    sentences: Sentences, mask_sign: MaskSign
) -> tuple[Int[np.ndarray, "N T d"], Int[np.ndarray, " N"]]:
    """Each sentence with each of its positions masked once, encoded in d = 2T coordinates, and the
    sum of the brackets that remain.

    Parameters
    ----------
    sentences
        (C, T), balanced rows of signs.
    mask_sign
        what stands at a masked position t: "fixed" means e_{T+t}; "random" means e_{T+t} or
        −e_{T+t} with equal probability, as the proofs of the paper need it, and so twice as many
        inputs.

    Returns
    -------
    two integer arrays
        inputs (N, T, 2T), all equally likely: row τ is s_τ e_τ, or the mask. Targets (N,): f* = Σ
        of the signs that are left, which is minus the hidden one, so ±1.

    Raises
    ------
    ValueError
        sentences that are not balanced rows of ±1, another word for `mask_sign`.

    Examples
    --------
    >>> from ntpcompanion.dyck import dyck_sentences, mask_each
    >>> inputs, targets = mask_each(dyck_sentences(2), "fixed")  # ⟨⟩, with one bracket masked
    >>> inputs.tolist()
    [[[0, 0, 1, 0], [0, -1, 0, 0]], [[1, 0, 0, 0], [0, 0, 0, 1]]]
    >>> targets.tolist()
    [-1, 1]
    """
    sentences = as_integer_array("sentences", sentences)
    T = sentences.shape[1]
    mask_values = np.array([1, -1] if mask_sign == "random" else [1])
    row, place, choice = (
        axis.ravel() for axis in np.indices((len(sentences), T, len(mask_values)))
    )
    inputs = encode(sentences)[row]
    n = np.arange(len(row))
    inputs[n, place, place] = 0
    inputs[n, place, T + place] = mask_values[choice]
    return inputs, -sentences[row, place]


def masked_support(
    T: Short, mask_sign: MaskSign
) -> tuple[Int[np.ndarray, "N T d"], Int[np.ndarray, " N"]]:
    """All masked balanced sentences and their targets f* = ±1: `mask_each` of `balanced_sentences`.

    N = 2T·C(T, T/2) inputs with the mask sign "random", half as many with "fixed", all distinct and
    equally likely: the population of the pre-training loss. Raises ValueError for an odd T, one out
    of range, or another word for `mask_sign`. At T = 12, 22,176 inputs in 0.1 s.

    Parameters
    ----------
    T
        the length of a sentence, even.
    mask_sign
        "random" or "fixed", see `mask_each`.

    Returns
    -------
    two integer arrays
        inputs (N, T, 2T), and targets (N,).

    Examples
    --------
    >>> from ntpcompanion.dyck import masked_support
    >>> inputs, targets = masked_support(4, "random")
    >>> inputs.shape, sorted(set(targets.tolist()))
    ((48, 4, 8), [-1, 1])
    """
    return mask_each(balanced_sentences(T), mask_sign)


@checked
def downstream_strings(T: Short) -> tuple[Int[np.ndarray, "N T d"], Int[np.ndarray, " N"]]:
    """All 2^T strings of brackets, nothing masked, and f* = how many more are opened than closed:
    the downstream task, of variance T.
    """
    signs = 1 - 2 * (np.arange(2**T)[:, None] >> np.arange(T) & 1)
    return encode(signs), signs.sum(1)


@checked
def encode(signs: Int[np.ndarray, "N T"]) -> Int[np.ndarray, "N T d"]:
    """x_t = s_t e_t in 2T coordinates, of which the second half is left to the mask."""
    signs = as_integer_array("signs", signs)
    N, T = signs.shape
    inputs = np.zeros((N, T, 2 * T), dtype=np.int64)
    inputs[:, np.arange(T), np.arange(T)] = signs
    return inputs


@checked
def circulant(T: Even) -> Int[np.ndarray, "r r"]:
    """The (T−1, T−1) circulant matrix of Lemma D.5, with a first row of T/2 ones, then T/2 − 1
    minus ones. ValueError for an odd T.
    """
    first = np.repeat([1, -1], [T // 2, T // 2 - 1])
    return np.array([np.roll(first, shift) for shift in range(T - 1)])


def closed_under_flip(rows: Int[np.ndarray, "N d"]) -> bool:
    """Whether −r is among the rows for every row r."""
    rows = _matrix(rows)
    return _rows(rows) == _rows(-rows)


def closed_under_swaps(rows: Int[np.ndarray, "N T"]) -> bool:
    """Whether any order of the entries of any row is a row too; neighbours that change places
    generate all orders.
    """
    rows = _matrix(rows)
    seen = _rows(rows)
    for place in range(rows.shape[1] - 1):
        swapped = rows.copy()
        swapped[:, [place, place + 1]] = rows[:, [place + 1, place]]
        if _rows(swapped) != seen:
            return False
    return True


def _rows(rows: np.ndarray) -> set[bytes]:
    return {row.tobytes() for row in np.ascontiguousarray(rows)}


def _matrix(rows: np.ndarray) -> np.ndarray:
    rows = as_integer_array("rows", rows)
    check_shape("rows", rows.shape, (None, None))
    return rows

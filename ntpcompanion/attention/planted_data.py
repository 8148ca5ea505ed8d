"""Labelled token sequences, and a random model of them in which attention has one token to find."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from ntpcompanion.checks import Is, Length, Range, Shape, checked, need
from ntpcompanion.validation import as_array, as_shaped, check_shape


@dataclass(frozen=True, eq=False)
@checked
class TokenSequences:
    """Sequences of tokens with a query and a label each. Leading axes are data sets of one size.

    Fields
    ------
    tokens
        x_iτ, (..., n, T, d): token τ of sequence i.
    queries
        q_i, (..., n, k). In the paper's layer the first token of the sequence.
    labels
        y_i, (..., n), each −1 or +1.

    Raises
    ------
    ValueError
        arrays that are not finite or do not fit to each other, labels other than −1 and +1.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.attention import TokenSequences
    >>> tokens = np.array([[[1.0, 0.0], [0.0, 1.0]]])  # one sequence of two tokens
    >>> data = TokenSequences(tokens, tokens[:, 0], np.ones(1))
    >>> data.logits(np.eye(2)).tolist(), data.scores([3.0, 4.0]).tolist()
    ([[1.0, 0.0]], [[3.0, 4.0]])
    """

    tokens: Float[np.ndarray, "*sets n T d"]
    queries: Float[np.ndarray, "*sets n k"]
    labels: Annotated[
        Float[np.ndarray, "*sets n"],
        Is(lambda labels: np.isin(np.asarray(labels), (-1, 1)).all(), "be −1 or +1"),
    ]

    def __post_init__(self) -> None:
        tokens = as_array("tokens", self.tokens)
        queries = as_shaped("queries", self.queries, (*tokens.shape[:-2], None))
        labels = as_shaped("labels", self.labels, tokens.shape[:-2])
        for name, value in (("tokens", tokens), ("queries", queries), ("labels", labels)):
            object.__setattr__(self, name, value)

    @property
    def length(self) -> int:
        """T, tokens in a sequence."""
        return int(self.tokens.shape[-2])

    def logits(self, weights: ArrayLike) -> Float[np.ndarray, "*sets n T"]:
        """Attention logits a_iτ = x_iτᵀ W q_i for W of shape (..., d, k); ValueError otherwise."""
        wanted = (self.tokens.shape[-1], self.queries.shape[-1])
        seen = self.queries @ np.swapaxes(self._as_given("weights", weights, wanted), -1, -2)
        return (self.tokens @ seen[..., None])[..., 0]

    def scores(self, decoder: ArrayLike) -> Float[np.ndarray, "*sets n T"]:
        """Token scores γ_iτ = y_i uᵀ x_iτ for u of shape (..., d); ValueError otherwise."""
        decoders = self._as_given("decoder", decoder, self.tokens.shape[-1:])
        seen = self.tokens @ decoders[..., None, :, None]
        return self.labels[..., None] * seen[..., 0]

    def weights(self, coefficients: ArrayLike) -> Float[np.ndarray, "*sets d k"]:
        """Σ_iτ c_iτ x_iτ q_iᵀ for coefficients of shape (..., n, T); ValueError otherwise."""
        factors = self._as_given("coefficients", coefficients, self.tokens.shape[-3:-1])
        mixed = (np.swapaxes(self.tokens, -1, -2) @ factors[..., None])[..., 0]
        return np.swapaxes(mixed, -1, -2) @ self.queries

    def gram(self) -> Float[np.ndarray, "*sets nT nT"]:
        """Inner products (x_iτᵀ x_jσ)(q_iᵀ q_j) of the matrices x_iτ q_iᵀ."""
        flat = self.tokens.reshape(*self.tokens.shape[:-3], -1, self.tokens.shape[-1])
        asked = np.repeat(self.queries, self.length, axis=-2)
        return (flat @ np.swapaxes(flat, -1, -2)) * (asked @ np.swapaxes(asked, -1, -2))

    def _as_given(self, name: str, value: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
        array = as_array(name, value)
        check_leading(name, array, shape, self.tokens.shape[:-3])
        return array


@dataclass(frozen=True, eq=False)
class PlantedTokens:
    """What `plant_tokens` draws.

    Fields
    ------
    sequences
        the data; the query of a sequence is its first token.
    best
        (n,), the position of the token that tells the label.
    decoder
        u = μ₊ − μ₋, (d,): the score of the best token is 1, of all others 0.
    """

    sequences: TokenSequences
    best: Int[np.ndarray, " n"]
    decoder: Float[np.ndarray, " d"]


Decoder = Annotated[ArrayLike, Shape("*sets d")]
Positions = Annotated[ArrayLike, Shape("{len(sequences.tokens)}")]
BEST = need(
    "best",
    "np.isin(np.asarray(best), np.arange(sequences.length)).all()",
    "hold positions 0 … {sequences.length} − 1",
)
Several = Annotated[int, Range(2)]


@checked
def plant_tokens(
    rng: np.random.Generator,
    *,
    count: Several,
    length: Several,
    dim: Annotated[int, Range(3, reason="(two means, and room for noise)")],
) -> PlantedTokens:
    """Draw sequences in which one token, at a random position, is the mean of its class and all
    others are noise.

    Parameters
    ----------
    rng
        source of the positions and the noise.
    count
        n, how many sequences; labels alternate.
    length
        T, tokens in each.
    dim
        of a token, d.

    Returns
    -------
    PlantedTokens
        μ₊ and μ₋ are the first two unit vectors (a rotation of the tokens would rotate W and change
        nothing else), noise tokens are N(0, I/d) without their part in the plane of the means.

    Raises
    ------
    ValueError
        fewer than 2 sequences or tokens, fewer than 3 dimensions, what is not a generator.

    Notes
    -----
    Our reading of the data that the paper calls Gaussian-type: its constants were not read. Cost
    O(n T d).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.attention import plant_tokens
    >>> drawn = plant_tokens(np.random.default_rng(0), count=4, length=3, dim=10)
    >>> scores = drawn.sequences.scores(drawn.decoder)
    >>> scores.shape, bool((scores.argmax(axis=1) == drawn.best).all())
    ((4, 3), True)
    """
    n, T, d = count, length, dim
    labels = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    best = rng.integers(0, T, n)
    means = np.eye(2, d)
    tokens = rng.standard_normal((n, T, d)) / np.sqrt(d)
    tokens[..., :2] = 0  # scores of noise are exactly 0
    tokens[np.arange(n), best] = means[(labels < 0).astype(int)]
    return PlantedTokens(TokenSequences(tokens, tokens[:, 0], labels), best, means[0] - means[1])


@checked
def stack_sequences(
    sets: Annotated[
        list[TokenSequences],
        Length(),
        Is(
            lambda sets: len({(one.tokens.shape, one.queries.shape) for one in sets}) == 1,
            "hold data sets of one size",
        ),
    ],
) -> TokenSequences:
    """Put data sets of one size behind each other, on a new first axis.

    Parameters
    ----------
    sets
        at least one.

    Returns
    -------
    TokenSequences
        arrays with one more axis in front.

    Raises
    ------
    ValueError
        no data set, or sets of different sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.attention import plant_tokens, stack_sequences
    >>> rng = np.random.default_rng(0)
    >>> drawn = [plant_tokens(rng, count=4, length=3, dim=10) for _ in range(5)]
    >>> stack_sequences([one.sequences for one in drawn]).tokens.shape
    (5, 4, 3, 10)
    """
    parts = ("tokens", "queries", "labels")
    return TokenSequences(*(np.stack([getattr(one, part) for one in sets]) for part in parts))


def as_decoder(name: str, value: ArrayLike, sequences: TokenSequences) -> np.ndarray:
    """A finite decoder u: one for all data sets, (d,), or one for each, (..., d). ValueError
    otherwise, and for more decoders than data sets.
    """
    decoder, sets = as_array(name, value), sequences.tokens.shape[:-3]
    if not sets:
        check_shape(name, decoder.shape, sequences.tokens.shape[-1:])
    if check_leading(name, decoder, sequences.tokens.shape[-1:], sets) != sets:
        raise ValueError(
            f"`{name}` must be one decoder for each of the data sets {sets}, got shape "
            f"{decoder.shape}."
        )
    return decoder


def check_leading(
    name: str, array: np.ndarray, shape: tuple[int, ...], sets: tuple[int, ...]
) -> tuple[int, ...]:
    """The leading axes of an array that ends in `shape` beside data with the leading axes `sets`.
    ValueError unless they go together.
    """
    split = array.ndim - len(shape)
    check_shape(name, array.shape[max(split, 0) :], shape)
    try:
        return np.broadcast_shapes(sets, array.shape[:split])
    except ValueError as error:
        raise ValueError(
            f"`{name}` must have leading axes that go with those of the data {sets}, got shape "
            f"{array.shape}."
        ) from error

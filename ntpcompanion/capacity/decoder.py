"""The one-layer decoder whose capacity is measured, several widths of it at once."""

import math
from collections.abc import Sequence
from typing import Annotated

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ntpcompanion.capacity.beginnings import Beginnings
from ntpcompanion.checks import Is, Length, Range, Size, checked
from ntpcompanion.validation import check_instance

Even = Annotated[
    int, Range(2), Is(lambda dim: dim % 2 == 0, "be even, half sines and half cosines")
]


@checked
def count_parameters(vocab_size: Size, dim: Size, width: Size) -> int:
    """k, the parameters of the decoder: V d embeddings, four maps of its attention, d m + m of the
    hidden layer, m V + V of the output, with biases.

    Parameters
    ----------
    vocab_size, dim, width
        V, d and m.

    Returns
    -------
    int
        how many parameters, k.

    Raises
    ------
    ValueError
        a size below 1.

    Examples
    --------
    With the sizes of the paper's largest point, this is the number that its figure shows:

    >>> from ntpcompanion.capacity import count_parameters
    >>> count_parameters(690, dim=16, width=32)
    35442
    """
    V, d, m = vocab_size, dim, width
    return V * d + 4 * (d * d + d) + (d + 1) * m + (m + 1) * V


@checked
def sinusoidal_positions(length: Size, dim: Even) -> Tensor:
    """Sines and cosines of t / 10000^{2i/d} in turn, for t = 0, 1, ….

    Parameters
    ----------
    length, dim
        how many positions, and d, even.

    Returns
    -------
    tensor
        (length, d), double precision.

    Raises
    ------
    ValueError
        a length below 1, a dimension below 2 or odd.

    Examples
    --------
    >>> from ntpcompanion.capacity import sinusoidal_positions
    >>> sinusoidal_positions(1, 4).tolist()
    [[0.0, 1.0, 0.0, 1.0]]
    """
    T, d = length, dim
    rates = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = torch.arange(T, dtype=torch.float64)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(T, d)


class DecoderStack(nn.Module):
    """Decoders of several widths side by side, each with all parameters of its own: embeddings
    with sinusoidal positions, one head of causal attention, GELU, logits. There is no residual
    path and no normalization, as in the code of Madden, Fox and Thrampoulidis (2025).

    Parameters
    ----------
    vocab_size, dim
        V, and d of the embeddings, even.
    widths
        m of each decoder's hidden layer.
    generator
        draws the initial parameters by PyTorch's rules: embeddings N(0, 1), all else uniform on
        ±1/√(inputs).

    Raises
    ------
    ValueError
        a size below 1, an odd `dim`, no width, no generator of torch.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from ntpcompanion.capacity import DecoderStack, tabulate_beginnings
    >>> beginnings = tabulate_beginnings(np.array([[0, 1, 2], [0, 2, 1]]))
    >>> stack = DecoderStack(3, 4, [2, 5], torch.Generator().manual_seed(0))
    >>> stack(beginnings).shape  # decoders, contexts, tokens
    torch.Size([2, 3, 3])
    """

    @checked
    def __init__(
        self,
        vocab_size: Size,
        dim: Even,
        widths: Annotated[Sequence[int], Length(), Range(1)],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        V, d = vocab_size, dim
        self.widths = list(widths)
        B, M = len(self.widths), max(self.widths)

        def uniform(inputs: Tensor, *shape: int) -> nn.Parameter:
            drawn = 2 * torch.rand(*shape, generator=generator) - 1
            return nn.Parameter(drawn / inputs.sqrt())

        dims = torch.tensor(float(d))
        widths = torch.tensor(self.widths, dtype=torch.float32)[:, None, None]
        self.embeddings = nn.Parameter(torch.randn(B, V, d, generator=generator))
        self.maps, self.shifts = uniform(dims, 4, B, d, d), uniform(dims, 4, B, 1, d)
        self.up, self.thresholds = uniform(dims, B, d, M), uniform(dims, B, 1, M)
        self.down, self.biases = uniform(widths, B, M, V), uniform(widths, B, 1, V)
        # narrower decoders are padded with hidden units that stay zero, and are never trained
        self.register_buffer("used", (torch.arange(M) < widths).to(torch.float32))
        self.double()  # single precision leaves 5e-6 nats, more than 0.01 % of some entropies

    def attention(self) -> list[nn.Parameter]:
        """The parameters of all attention layers."""
        return [self.maps, self.shifts]

    def features(self, beginnings: Beginnings) -> Tensor:
        """(decoders, N, d) what attention makes of each context. Raises ValueError unless
        `beginnings` are `Beginnings`.
        """
        check_instance("beginnings", beginnings, Beginnings)
        tokens = torch.as_tensor(beginnings.tokens[:, :-1])
        n, T = tokens.shape
        B, _, d = self.embeddings.shape
        positions = sinusoidal_positions(T, d)
        vectors = self.embeddings[:, tokens.reshape(-1)] + positions.repeat(n, 1)
        query, key, value = (
            (vectors @ self.maps[i] + self.shifts[i]).reshape(B, n, T, d) for i in range(3)
        )
        later = torch.ones(T, T, dtype=torch.bool).triu(1)
        scores = query @ key.transpose(-1, -2) / math.sqrt(d)
        mixed = scores.masked_fill(later, -torch.inf).softmax(dim=-1) @ value
        last = torch.as_tensor(beginnings.document * T + beginnings.length - 1)
        return mixed.reshape(B, n * T, d)[:, last] @ self.maps[3] + self.shifts[3]

    def hidden(self, beginnings: Beginnings) -> Tensor:
        """(decoders, N, widest) the hidden units, zero where a decoder is narrower. Raises
        ValueError as `features`.
        """
        return F.gelu(self.features(beginnings) @ self.up + self.thresholds) * self.used

    def forward(self, beginnings: Beginnings) -> Tensor:
        """(decoders, N, V) logits of the token after each context."""
        return self.hidden(beginnings) @ self.down + self.biases

"""The inside–outside pass over all spans of a batch of sentences of mixed lengths, with a scale of
its own for every span.
"""

import torch
from torch import Tensor

from ntpcompanion.languages.language import PADDING

# of the factor by which one span may weigh more than another: squares still fit into float64
LARGEST_LOG = 300.0


class Chart:
    """Scaled inside probabilities of all spans of a batch: [·, i, w] is the span of w + 1 words
    from word i on.

    `root` (S,) and `lexical` (S, V) are those of the grammar; `rules` (S, k) are the probabilities
    of its rules a → b c for k pairs, whose numbers b S + c are `pairs`, a tensor or the slice of
    all.
    """

    def __init__(
        self,
        root: Tensor,
        lexical: Tensor,
        pairs: slice | Tensor,
        rules: Tensor,
        tokens: Tensor,
        lengths: Tensor,
    ) -> None:
        self.root, self.lexical, self.pairs, self.rules, self.lengths = (
            root,
            lexical,
            pairs,
            rules,
            lengths,
        )
        batch, n = tokens.shape
        self.inside = tokens.new_zeros((batch, n, n, len(root)), dtype=torch.float64)
        self.scale = self.inside.new_zeros((batch, n, n))
        # the same by last word instead of first, so that right parts are slices too
        self.ending = self.inside.clone()
        self.ending_scale = self.scale.clone()
        if tokens.numel():
            self._store(
                0,
                lexical.T[tokens.clamp_min(0)] * (tokens != PADDING)[..., None],
                torch.zeros_like(self.scale[:, :, 0]),
            )
        for w in range(1, n):
            self._store(w, *self._combined(w))

    def _store(self, w: int, values: Tensor, scale: Tensor) -> None:
        peak = values.amax(-1)
        scaled = values / torch.where(peak > 0, peak, 1.0)[..., None]
        # what no symbol can span keeps a scale too: `outside` asks what another word in the place
        # of one of its own would make of it
        scale = torch.where(peak > 0, scale + peak.log(), scale)
        starts = scaled.shape[1]
        self.inside[:, :starts, w], self.scale[:, :starts, w] = scaled, scale
        self.ending[:, w:, w], self.ending_scale[:, w:, w] = scaled, scale

    def _parts(self, w: int) -> tuple[Tensor, Tensor, Tensor]:
        """The left and right parts of all spans of w + 1 words, (batch, starts, w, S), and the sums
        of their scales.
        """
        starts = self.inside.shape[1] - w
        left, right = self.inside[:, :starts, :w], self.ending[:, w:, :w].flip(2)
        return left, right, self.scale[:, :starts, :w] + self.ending_scale[:, w:, :w].flip(2)

    def _combined(self, w: int) -> tuple[Tensor, Tensor]:
        left, right, scales = self._parts(w)
        possible = (left.amax(-1) > 0) & (right.amax(-1) > 0)
        scale = torch.where(
            possible.any(-1), scales.masked_fill(~possible, -torch.inf).amax(-1), scales.amax(-1)
        )
        # above 0 are only those that are impossible: zeros
        weight = (scales - scale[..., None]).clamp_max(0).exp()
        pairs = (left * weight[..., None]).mT @ right
        return pairs.flatten(2)[..., self.pairs] @ self.rules.T, scale

    @property
    def _top(self) -> tuple[Tensor, Tensor]:
        """The place of the whole sentence in the chart."""
        return torch.arange(len(self.lengths), device=self.lengths.device), self.lengths - 1

    @property
    def log_prob(self) -> Tensor:
        """The log-probability of each sentence, (batch,)."""
        if not len(self.lengths):
            return self.lengths.double()
        rows, widths = self._top
        return (self.inside[rows, 0, widths] @ self.root).log() + self.scale[rows, 0, widths]

    def outside(self) -> Tensor:
        """What to multiply `inside` by for the posterior of every span and symbol: the derivative
        of log Pr by the scaled inside entry.
        """
        outside, ending = torch.zeros_like(self.inside), torch.zeros_like(self.inside)
        if not len(self.lengths):
            return outside
        rows, widths = self._top
        outside[rows, 0, widths] = self.root / (self.inside[rows, 0, widths] @ self.root)[:, None]
        for w in range(self.inside.shape[1] - 1, 0, -1):
            self._push_down(w, outside, ending)
        outside[:, :, 0] += ending[:, :, 0]
        return outside

    def _push_down(self, w: int, outside: Tensor, ending: Tensor) -> None:
        """Finish the spans of w + 1 words, and give their parts what follows from them."""
        left, right, scales = self._parts(w)
        starts, symbols = left.shape[1], left.shape[3]
        outside[:, :starts, w] += ending[:, w:, w]
        weight = (scales - self.scale[:, :starts, w, None]).clamp_max(LARGEST_LOG).exp()[..., None]
        pairs = outside.new_zeros(len(outside), starts, symbols * symbols)
        pairs[..., self.pairs] = outside[:, :starts, w] @ self.rules
        pairs = pairs.unflatten(2, (symbols, symbols))
        outside[:, :starts, :w] += weight * (right @ pairs.mT)
        ending[:, w:, :w] += (weight * (left @ pairs)).flip(2)

"""The shape of a network as plain values that a record can hold."""

from dataclasses import dataclass
from typing import Literal

from ntpcompanion.networks.size_checks import check_choices, check_integer, check_whole


@dataclass(frozen=True)
class ModelPlan:
    """The shape of a language model.

    Fields
    ------
    kind
        "transformer" or "lstm".
    width
        d, of the contextual vectors.
    layers
        how many.
    heads, inner
        of a transformer: attention heads, which must divide the width, and width of the hidden
        layer of each MLP (4 d in Table 3 of Liu et al. 2023). An LSTM has neither: 1 and 0.
    words, positions
        size of the vocabulary, and the longest sentence.

    Raises
    ------
    ValueError
        an unknown kind, a size below 1, heads that do not divide the width, an LSTM of odd width or
        with heads.

    Examples
    --------
    >>> from ntpcompanion.networks import ModelPlan, build_model, parameters_of
    >>> plan = ModelPlan("transformer", 8, layers=1, heads=2, inner=32, words=20, positions=8)
    >>> parameters_of(build_model(plan, seed=0))
    1180
    """

    kind: Literal["transformer", "lstm"]
    width: int
    layers: int
    heads: int = 1
    inner: int = 0
    words: int = 200
    positions: int = 32

    def __post_init__(self) -> None:
        check_choices(self)
        check_whole(self, "width", "layers", "heads", "words", "positions")
        check_integer(self, "inner")
        if self.kind == "lstm":
            self._check_lstm()
            return
        check_whole(self, "inner")
        if self.width % self.heads:
            raise ValueError(f"`heads` must divide `width` = {self.width}, got {self.heads}.")

    def _check_lstm(self) -> None:
        if self.width % 2:
            raise ValueError(
                f"`width` of an LSTM must be even, one half for each direction, got {self.width}."
            )
        if self.heads != 1 or self.inner:
            raise ValueError(
                f"`heads` and `inner` of an LSTM must be 1 and 0, got {self.heads} and "
                f"{self.inner}."
            )


@dataclass(frozen=True)
class TransformerSize:
    """A transformer whose MLPs are 4 times as wide as its vectors.

    Fields
    ------
    width, layers, heads
        as of a `ModelPlan`.

    Examples
    --------
    >>> from ntpcompanion.networks import TransformerSize
    >>> TransformerSize(64, layers=2, heads=2).for_sentences(words=100, positions=8).inner
    256
    """

    width: int
    layers: int
    heads: int

    def for_sentences(self, words: int, positions: int) -> ModelPlan:
        """The plan of this network for a vocabulary and sentences of up to `positions` words.
        Raises ValueError for a field or a size that is not an integer of at least 1.
        """
        check_whole(self, "width", "layers", "heads")
        return ModelPlan(
            "transformer", self.width, self.layers, self.heads, 4 * self.width, words, positions
        )

"""The shape of a network as plain values that a record can hold."""

from dataclasses import dataclass
from typing import Annotated, Literal

from ntpcompanion.checks import Count, Is, Size, checked, need


@dataclass(frozen=True)
@checked(
    need("heads", "width % heads == 0", "divide `width` = {width}"),
    need("heads", "kind != 'lstm' or heads == 1", "be 1 for an LSTM"),
    need("inner", "(inner > 0) == (kind != 'lstm')", "be 0 for an LSTM only"),
    need("width", "kind != 'lstm' or width % 2 == 0", "be even for an LSTM"),
)
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
    width: Size
    layers: Size
    heads: Size = 1
    inner: Count = 0
    words: Size = 200
    positions: Size = 32


TransformerPlan = Annotated[ModelPlan, Is(lambda plan: plan.kind == "transformer", "be of one")]


@dataclass(frozen=True)
@checked
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

    width: Size
    layers: Size
    heads: Size

    def for_sentences(self, words: int, positions: int) -> ModelPlan:
        """The plan of this network for a vocabulary and sentences of up to `positions` words.
        Raises ValueError for a size that is not an integer of at least 1.
        """
        return ModelPlan(
            "transformer", self.width, self.layers, self.heads, 4 * self.width, words, positions
        )

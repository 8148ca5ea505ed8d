"""What all networks share: token embeddings, a last LayerNorm, and a decoder tied to the
embeddings.
"""

from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ntpcompanion.checks import Range, checked
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.validation import check_positions, check_sentences

# Row of the embeddings that belongs to word 0. The two rows before it belong to the tokens −2 and
# −1, which are not words: a mask and padding.
FIRST_WORD = 2


class LanguageModel(nn.Module):
    """Logits of words: a feature extractor h, and the linear map g with the embeddings of the words
    as rows.

    logits = E LN(h) + b, E the rows of the embeddings that belong to words (Liu et al. 2023,
    section 3.1, with the tied decoder of its code). Padding is a symbol that the model sees, as it
    says where the sentence ends: sentences are padded to `plan.positions`. Two networks share this:
    `Transformer` and `BidirectionalLSTM`, made by `build_model`.

    Raises
    ------
    ValueError
        what is not a plan; fewer rows of embeddings than words, mask and padding.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.networks import LanguageModel, ModelPlan, build_model
    >>> plan = ModelPlan("transformer", 8, layers=1, inner=32, words=20, positions=4)
    >>> model = build_model(plan, seed=0)
    >>> isinstance(model, LanguageModel)
    True
    >>> model.features(torch.tensor([[7, 5, -1, -1]])).shape  # of CLS, two words, two paddings
    torch.Size([1, 5, 8])
    """

    @checked
    def __init__(self, plan: ModelPlan, rows: Annotated[int, Range("plan.words + 2")]) -> None:
        super().__init__()
        self.plan = plan
        self.words = nn.Embedding(rows, plan.width)
        self.last_norm = nn.LayerNorm(plan.width)
        self.bias = nn.Parameter(torch.zeros(plan.words))

    def forward(
        self, tokens: Int[Tensor, "batch length"], positions: Int[Tensor, "batch asked"]
    ) -> Float[Tensor, "batch asked words"]:
        """Logits of the words at the `positions` of each sentence. Raises ValueError unless
        `length` is `plan.positions` and both are integers on the device of the parameters.
        """
        check_sentences("tokens", tokens, self.bias, self.plan.positions)
        check_positions("positions", positions, tokens)
        hidden = self.last_norm(self._extract(tokens, positions))
        return F.linear(
            hidden, self.words.weight[FIRST_WORD : FIRST_WORD + self.plan.words], self.bias
        )

    def features(self, tokens: Int[Tensor, "batch length"]) -> Float[Tensor, "batch vectors width"]:
        """The contextual vectors of all positions; a transformer's first one belongs to the symbol
        CLS before the sentence. Raises ValueError as a call does.
        """
        check_sentences("tokens", tokens, self.bias, self.plan.positions)
        return self.last_norm(self._extract(tokens, None))

    def _extract(self, tokens: Tensor, positions: Tensor | None) -> Tensor:
        raise NotImplementedError


def take(
    hidden: Float[Tensor, "batch length width"], positions: Int[Tensor, "batch asked"]
) -> Float[Tensor, "batch asked width"]:
    """The vectors at the `positions` of each sentence."""
    return hidden.gather(1, positions[..., None].expand(-1, -1, hidden.shape[-1]))

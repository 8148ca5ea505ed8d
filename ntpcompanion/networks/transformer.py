"""A pre-LN transformer whose attention is two-sided, as in BERT, or causal, as in GPT."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ntpcompanion.checks import checked
from ntpcompanion.networks.language_model import FIRST_WORD, LanguageModel, take
from ntpcompanion.networks.network_plan import ModelPlan, TransformerPlan


class Transformer(LanguageModel):
    """Pre-LN transformer: h ← h + MHA(LN(h)), h ← h + W₂ gelu(W₁ LN(h)), after a LayerNorm of the
    embeddings, as in Liu et al. 2023.

    A symbol CLS stands before every sentence, for fine-tuning. The last layer is computed at the
    asked positions only. With `causal` the vector at a position depends on CLS and on the tokens up
    to this position only; its logits are those of the next word.

    Raises
    ------
    ValueError
        a plan of another network, a `causal` that is not a flag.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.networks import ModelPlan, build_model
    >>> plan = ModelPlan("transformer", 8, layers=1, inner=32, words=20, positions=3)
    >>> one, other = torch.tensor([[7, 5, 2], [7, 5, 9]]).split(1)
    >>> at = torch.tensor([[1]])
    >>> for causal in (False, True):  # does the vector at word 1 depend on word 2?
    ...     model = build_model(plan, seed=0, causal=causal)
    ...     print(causal, not torch.equal(model(one, at), model(other, at)))
    False True
    True False
    """

    @checked
    def __init__(self, plan: TransformerPlan, *, causal: bool = False) -> None:
        super().__init__(plan, FIRST_WORD + plan.words + 1)
        self.causal = causal
        self.places = nn.Embedding(plan.positions + 1, plan.width)
        self.first_norm = nn.LayerNorm(plan.width)
        self.blocks = nn.ModuleList(Block(plan) for _ in range(plan.layers))

    def _extract(self, tokens: Tensor, positions: Tensor | None) -> Tensor:
        rows = F.pad(tokens + FIRST_WORD, (1, 0), value=self.words.num_embeddings - 1)
        hidden = self.first_norm(self.words(rows) + self.places.weight)
        for block in self.blocks[:-1]:
            hidden = block(hidden, causal=self.causal)
        return self.blocks[-1](
            hidden, None if positions is None else positions + 1, causal=self.causal
        )


class Block(nn.Module):
    """Attention and MLP of one layer."""

    def __init__(self, plan: ModelPlan) -> None:
        super().__init__()
        self.heads = plan.heads
        self.attention_norm, self.mlp_norm = nn.LayerNorm(plan.width), nn.LayerNorm(plan.width)
        self.query, self.key_value = (
            nn.Linear(plan.width, plan.width),
            nn.Linear(plan.width, 2 * plan.width),
        )
        self.out = nn.Linear(plan.width, plan.width)
        self.up, self.down = nn.Linear(plan.width, plan.inner), nn.Linear(plan.inner, plan.width)

    def forward(
        self, hidden: Tensor, positions: Tensor | None = None, *, causal: bool = False
    ) -> Tensor:
        """The layer's output at all positions, or at the `positions` (batch, asked) only: the
        same numbers for less work. With `causal` a position attends to itself and those before.
        """
        source = self.attention_norm(hidden)
        key, value = self.key_value(source).chunk(2, -1)
        visible = _not_later(source, positions) if causal else None
        if positions is not None:
            hidden, source = take(hidden, positions), take(source, positions)
        attended = F.scaled_dot_product_attention(
            *(self._split(x) for x in (self.query(source), key, value)),  # type: ignore[misc]  # three
            attn_mask=visible,
        )
        hidden = hidden + self.out(attended.transpose(1, 2).flatten(2))
        return hidden + self.down(F.gelu(self.up(self.mlp_norm(hidden))))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def _not_later(hidden: Tensor, positions: Tensor | None) -> Tensor:
    """(…, 1, asked, length) true where the key is not later than the asked position."""
    all_positions = torch.arange(hidden.shape[1], device=hidden.device)
    asked = all_positions[None] if positions is None else positions
    return (all_positions <= asked[..., None])[:, None]

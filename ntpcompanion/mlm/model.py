"""The networks: a pre-LN transformer as in BERT and a bidirectional LSTM, both with a decoder tied
to the embeddings of the words.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ntpcompanion.languages.language import PADDING
from ntpcompanion.mlm.plan import ModelPlan

# stands for the word to be predicted; beside PADDING = −1 it is the only token that is no word
MASK = -2
FIRST_WORD = 2  # row of the embeddings that belongs to word 0, after those of MASK and PADDING
INITIAL_DEVIATION = 0.02  # of the entries of embeddings and weight matrices, as in BERT


class MaskedLM(nn.Module):
    """Logits of the masked words: a feature extractor h, and the linear map g with the embeddings
    of the words as rows.

    logits = E LN(h) + b, E the rows of the embeddings that belong to words (Liu et al. 2023,
    section 3.1, with the tied decoder of its code). Padding is a symbol that the model sees, as it
    says where the sentence ends: sentences are padded to `plan.positions`. Two networks share this:
    `Transformer` and `BidirectionalLSTM`, made by `build_model`.
    """

    def __init__(self, plan: ModelPlan, rows: int) -> None:
        super().__init__()
        self.plan = plan
        self.words = nn.Embedding(rows, plan.width)
        self.last_norm = nn.LayerNorm(plan.width)
        self.bias = nn.Parameter(torch.zeros(plan.words))

    def forward(
        self, tokens: Int[Tensor, "batch length"], at: Int[Tensor, "batch masks"]
    ) -> Float[Tensor, "batch masks words"]:
        """Logits of the words at the positions `at` of each sentence. Raises ValueError unless
        `length` is `plan.positions`.
        """
        self._refuse_length(tokens)
        hidden = self.last_norm(self._extract(tokens, at))
        return F.linear(
            hidden, self.words.weight[FIRST_WORD : FIRST_WORD + self.plan.words], self.bias
        )

    def features(self, tokens: Int[Tensor, "batch length"]) -> Float[Tensor, "batch vectors width"]:
        """The contextual vectors of all positions; a transformer's first one belongs to the symbol
        CLS before the sentence.
        """
        self._refuse_length(tokens)
        return self.last_norm(self._extract(tokens, None))

    def _refuse_length(self, tokens: Tensor) -> None:
        if tokens.shape[1] != self.plan.positions:
            advice = (
                "Pad with −1 on the right."
                if tokens.shape[1] < self.plan.positions
                else "Build a model with more `positions`."
            )
            raise ValueError(
                f"`tokens` must have {self.plan.positions} columns, the `positions` of the model, "
                f"got {tokens.shape[1]}. {advice}"
            )

    def _extract(self, tokens: Tensor, at: Tensor | None) -> Tensor:
        raise NotImplementedError


class Transformer(MaskedLM):
    """Pre-LN transformer: h ← h + MHA(LN(h)), h ← h + W₂ gelu(W₁ LN(h)), after a LayerNorm of the
    embeddings, as in Liu et al. 2023.

    A symbol CLS stands before every sentence, for fine-tuning. The last layer is computed at the
    asked positions only.
    """

    def __init__(self, plan: ModelPlan) -> None:
        super().__init__(plan, FIRST_WORD + plan.words + 1)
        self.places = nn.Embedding(plan.positions + 1, plan.width)
        self.first_norm = nn.LayerNorm(plan.width)
        self.blocks = nn.ModuleList(Block(plan) for _ in range(plan.layers))

    def _extract(self, tokens: Tensor, at: Tensor | None) -> Tensor:
        rows = F.pad(tokens + FIRST_WORD, (1, 0), value=self.words.num_embeddings - 1)
        hidden = self.first_norm(self.words(rows) + self.places.weight)
        for block in self.blocks[:-1]:
            hidden = block(hidden)
        return self.blocks[-1](hidden, None if at is None else at + 1)


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

    def forward(self, hidden: Tensor, at: Tensor | None = None) -> Tensor:
        """The layer's output at all positions, or at the positions `at` (batch, masks) only: the
        same numbers for less work.
        """
        source = self.attention_norm(hidden)
        key, value = self.key_value(source).chunk(2, -1)
        if at is not None:
            hidden, source = _take(hidden, at), _take(source, at)
        attended = F.scaled_dot_product_attention(
            *(self._split(x) for x in (self.query(source), key, value))
        )
        hidden = hidden + self.out(attended.transpose(1, 2).flatten(2))
        return hidden + self.down(F.gelu(self.up(self.mlp_norm(hidden))))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class BidirectionalLSTM(MaskedLM):
    """Layers h ← h + LSTM(LN(h)), each an `nn.LSTM` in both directions with half the width in each.

    The paper says only that PyTorch's LSTM was used, with widths and numbers of layers. A masked
    word needs the words on both sides, hence two directions; without the residual path stacks of
    four layers and more learn slowly.
    """

    def __init__(self, plan: ModelPlan) -> None:
        super().__init__(plan, FIRST_WORD + plan.words)
        self.norms = nn.ModuleList(nn.LayerNorm(plan.width) for _ in range(plan.layers))
        self.layers = nn.ModuleList(
            nn.LSTM(plan.width, plan.width // 2, batch_first=True, bidirectional=True)
            for _ in range(plan.layers)
        )

    def _extract(self, tokens: Tensor, at: Tensor | None) -> Tensor:
        hidden = self.words(tokens + FIRST_WORD)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            hidden = hidden + layer(norm(hidden))[0]
        return hidden if at is None else _take(hidden, at)


def _take(hidden: Tensor, at: Tensor) -> Tensor:
    return hidden.gather(1, at[..., None].expand(-1, -1, hidden.shape[-1]))


def build_model(plan: ModelPlan, seed: int, device: torch.device | str = "cpu") -> MaskedLM:
    """A model with its initial parameters, float32 on `device`; the same numbers on every device,
    drawn from `seed` alone.

    Matrices and embeddings are N(0, 0.02²), gains 1, biases 0; the matrices of an LSTM are uniform
    on ±1/√(hidden units), as PyTorch's. A model on the device "meta" has shapes only.
    """
    with torch.device("meta"):
        model = (Transformer if plan.kind == "transformer" else BidirectionalLSTM)(plan)
    if torch.device(device).type == "meta":
        return model
    model = model.to_empty(device="cpu")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            _initialize(module, generator)
    return model.to(device)


def _initialize(module: nn.Module, generator: torch.Generator) -> None:
    match module:
        case nn.LayerNorm():
            module.reset_parameters()
        case nn.Linear():
            module.weight.normal_(0.0, INITIAL_DEVIATION, generator=generator)
            module.bias.zero_()
        case nn.Embedding():
            module.weight.normal_(0.0, INITIAL_DEVIATION, generator=generator)
        case nn.LSTM():
            for parameter in module.parameters():
                parameter.uniform_(
                    -(module.hidden_size**-0.5), module.hidden_size**-0.5, generator=generator
                )
        case MaskedLM():
            module.bias.zero_()


def parameters_of(model: nn.Module) -> int:
    """The number of trained parameters, each counted once."""
    return sum(parameter.numel() for parameter in model.parameters())


def padded_to(
    tokens: Int[Tensor, "batch length"], positions: int
) -> Int[Tensor, "batch positions"]:
    """Sentences with PADDING on the right up to `positions` columns. Raises ValueError if one is
    longer.
    """
    excess = tokens.shape[1] - positions
    if excess > 0 and bool((tokens[:, positions:] != PADDING).any()):
        raise ValueError(
            f"`tokens` holds sentences of {tokens.shape[1]} words, the model has {positions} "
            "`positions`. Give it more."
        )
    return F.pad(tokens, (0, -excess), value=PADDING)

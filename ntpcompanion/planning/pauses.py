"""A causal decoder with one more token, <pause>, that only buys vectors to compute with
(Goyal et al. 2024).
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ntpcompanion.checks import Count, Positive, Seed, checked, need
from ntpcompanion.networks.build_network import INITIAL_DEVIATION, build_model
from ntpcompanion.networks.language_model import FIRST_WORD
from ntpcompanion.networks.network_plan import TransformerPlan
from ntpcompanion.networks.transformer import Transformer
from ntpcompanion.randomness import torch_stream
from ntpcompanion.validation import check_positions, check_sentences

PAUSE = -3  # stands for <pause> among tokens: it is not a word, so no logit belongs to it


class PauseDecoder(nn.Module):
    """A causal transformer and one learned vector for the token `PAUSE`.

    The vector is all that is added, however many pauses a sequence holds. Positions are learned,
    and a sequence with pauses uses more rows of their table. Sequences may be shorter than the
    table.

    Parameters
    ----------
    plan
        the shape of the transformer; `positions` is the length of the longest sequence, pauses
        included.
    seed
        of the initial parameters; those of the transformer are `build_model(plan, seed)`.
    deviation
        of the initial matrices and embeddings, that of <pause> included.

    Raises
    ------
    ValueError
        an LSTM, or what `build_model` rejects.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.networks import ModelPlan, parameters_of
    >>> from ntpcompanion.planning import PauseDecoder, append_pauses
    >>> plan = ModelPlan("transformer", 8, layers=1, inner=32, words=20, positions=6)
    >>> decoder = PauseDecoder(plan, seed=0)
    >>> parameters_of(decoder) - parameters_of(decoder.model)  # one row of width 8
    8
    >>> prefix = torch.tensor([[7, 5, 2]])
    >>> decoder(prefix).shape, decoder(append_pauses(prefix, 3)).shape
    (torch.Size([1, 3, 20]), torch.Size([1, 6, 20]))
    """

    @checked
    def __init__(
        self, plan: TransformerPlan, seed: Seed, *, deviation: Positive = INITIAL_DEVIATION
    ) -> None:
        super().__init__()
        model = build_model(plan, seed, causal=True, deviation=deviation)
        assert isinstance(model, Transformer), "a causal LSTM has been rejected"
        self.model = model
        noise = torch.randn(plan.width, generator=torch_stream(seed, "pause"))
        self.pause = nn.Parameter(deviation * noise)

    def features(
        self,
        tokens: Int[Tensor, "batch length"],
        positions: Int[Tensor, "batch asked"] | None = None,
    ) -> Float[Tensor, "batch vectors width"]:
        """The contextual vectors of the symbol CLS and of all tokens, or those at the
        `positions` of each sequence. Raises ValueError for a sequence longer than the table of
        positions, and for what are not integers on the device of the parameters.
        """
        model = self.model
        check_sentences("tokens", tokens, self.pause, model.plan.positions, shorter=True)
        if positions is not None:
            check_positions("positions", positions, tokens)
        rows = F.pad(tokens + FIRST_WORD, (1, 0), value=model.words.num_embeddings - 1)
        paused = (rows == PAUSE + FIRST_WORD)[..., None]
        embedded = torch.where(paused, self.pause, model.words(rows.masked_fill(paused[..., 0], 0)))
        hidden = model.first_norm(embedded + model.places.weight[: rows.shape[1]])
        for block in model.blocks[:-1]:
            hidden = block(hidden, causal=True)
        hidden = model.blocks[-1](hidden, None if positions is None else positions + 1, causal=True)
        return model.last_norm(hidden)

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        positions: Int[Tensor, "batch asked"] | None = None,
    ) -> Float[Tensor, "batch asked words"]:
        """Logits of the word after each token, or after the tokens at `positions`. Raises
        ValueError as `features`.
        """
        model = self.model
        hidden = self.features(tokens, positions)
        words = model.words.weight[FIRST_WORD : FIRST_WORD + model.plan.words]
        return F.linear(hidden[:, 1:] if positions is None else hidden, words, model.bias)

    @checked(
        need(
            "prefix",
            "prefix.shape[1] + pauses <= self.model.plan.positions",
            "take with its `pauses` at most the {self.model.plan.positions} positions of the model",
        )
    )
    def answer(
        self, prefix: Int[Tensor, "batch length"], pauses: Count
    ) -> Float[Tensor, "batch _"]:
        """Logits of the word after a prefix and `pauses` pauses: what is read is the vector of the
        last pause, or of the last token of the prefix if there is none. Raises ValueError where the
        model has not as many positions.
        """
        tokens = append_pauses(prefix, pauses)
        return self(tokens, torch.full_like(tokens[:, :1], tokens.shape[1] - 1))[:, 0]


@checked
def append_pauses(
    tokens: Int[Tensor, "batch length"], pauses: Count
) -> Int[Tensor, "batch longer"]:
    """Sequences with pauses at their ends.

    Parameters
    ----------
    tokens
        a sequence in each row.
    pauses
        M, how many are appended to each.

    Returns
    -------
    Tensor
        (batch, length + M).

    Raises
    ------
    ValueError
        a number of pauses that is not an integer or negative; tokens that are not a matrix of
        integers.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.planning import append_pauses
    >>> append_pauses(torch.tensor([[7, 5]]), 2)
    tensor([[ 7,  5, -3, -3]])
    """
    return F.pad(tokens, (0, pauses), value=PAUSE)

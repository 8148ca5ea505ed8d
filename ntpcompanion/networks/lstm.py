"""A bidirectional LSTM with residual layers."""

from typing import Annotated

from torch import Tensor, nn

from ntpcompanion.checks import Is, checked
from ntpcompanion.networks.language_model import FIRST_WORD, LanguageModel, take
from ntpcompanion.networks.network_plan import ModelPlan


class BidirectionalLSTM(LanguageModel):
    """Layers h ← h + LSTM(LN(h)), each an `nn.LSTM` in both directions with half the width in each.

    The paper says only that PyTorch's LSTM was used, with widths and numbers of layers. A masked
    word needs the words on both sides, hence two directions; without the residual path stacks of
    four layers and more learn slowly.

    Raises
    ------
    ValueError
        a plan of another network.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.networks import ModelPlan, build_model
    >>> model = build_model(ModelPlan("lstm", 8, layers=2, words=20, positions=3), seed=0)
    >>> model.features(torch.tensor([[7, 5, 2]])).shape  # no CLS
    torch.Size([1, 3, 8])
    """

    @checked
    def __init__(
        self, plan: Annotated[ModelPlan, Is(lambda plan: plan.kind == "lstm", "be of an LSTM")]
    ) -> None:
        super().__init__(plan, FIRST_WORD + plan.words)
        self.norms = nn.ModuleList(nn.LayerNorm(plan.width) for _ in range(plan.layers))
        self.layers = nn.ModuleList(
            nn.LSTM(plan.width, plan.width // 2, batch_first=True, bidirectional=True)
            for _ in range(plan.layers)
        )

    def _extract(self, tokens: Tensor, positions: Tensor | None) -> Tensor:
        hidden = self.words(tokens + FIRST_WORD)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            hidden = hidden + layer(norm(hidden))[0]
        return hidden if positions is None else take(hidden, positions)

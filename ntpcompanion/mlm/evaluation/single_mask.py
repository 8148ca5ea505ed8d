"""A masked language model as what a measurement of curvature takes: a function of the sentence
alone.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ntpcompanion.mlm.data.special_tokens import MASK
from ntpcompanion.mlm.evaluation.evaluate import TestSet
from ntpcompanion.networks.language_model import LanguageModel


class OneMask(nn.Module):
    """logits (batch, words) of the one word that is hidden in each sentence; parameters are those
    of the model, shared with it.
    """

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Int[Tensor, "batch positions"]) -> Float[Tensor, "batch words"]:
        """What the model says of the first MASK of each sentence."""
        at = (tokens == MASK).to(torch.int8).argmax(1, keepdim=True)
        return self.model(tokens, at)[:, 0]


def population_loss(logits: Float[Tensor, "n words"], test: TestSet) -> Float[Tensor, ""]:
    """L on a test set in nats, with the exact conditionals in place of drawn words: its Hessian has
    no noise of labels.
    """
    return -(test.conditional.to(logits) * logits.log_softmax(1)).sum(1).mean()

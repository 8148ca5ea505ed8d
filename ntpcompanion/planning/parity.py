"""A question that needs many hidden units at once: is the number of ones even or odd?"""

import itertools
import math
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ntpcompanion.checks import Is, Range, checked

ASK = 2  # the token after the bits, "="
WORDS = 3  # 0, 1 and "="
Logits = Annotated[
    Float[Tensor, "{len(self.answers)} words"],
    Is(lambda logits: logits.shape[1] > 1, "have a column for each of 0 and 1"),
]


@dataclass(frozen=True, eq=False)
class ParityQuestions:
    """All strings of k bits, each with `ASK` behind it, and their parities. `weights` are
    probabilities: every number of ones is equally likely, and so is every arrangement of as many
    ones.
    """

    prefixes: Int[Tensor, "strings length"]
    answers: Int[Tensor, " strings"]
    weights: Float[Tensor, " strings"]

    @checked
    def accuracy(self, logits: Logits) -> float:
        """The probability that the word with the largest logit is the answer. Raises ValueError for
        what are not logits, a row for each string.
        """
        right = self.weights[logits.argmax(dim=1) == self.answers]
        return min(1.0, float(right.sum()))  # rounding may carry the sum of all beyond 1

    @checked
    def loss(self, logits: Logits) -> Float[Tensor, ""]:
        """The expected cross-entropy of the answer, in nats. Raises ValueError as `accuracy`."""
        chosen = logits.log_softmax(dim=1).gather(1, self.answers[:, None])[:, 0]
        return -(self.weights.to(logits.dtype) * chosen).sum()


@checked
def parity_questions(
    bits: Annotated[int, Range(1, 16, "(2^bits strings)")],
) -> ParityQuestions:
    """All questions of k bits, with probabilities: k look-ups of a bit at a position, whose
    exclusive or is the answer. Raises ValueError for what is no integer in 1 … 16.
    """
    strings = torch.tensor(list(itertools.product((0, 1), repeat=bits)))
    ones = strings.sum(dim=1)
    weights = [1 / (bits + 1) / math.comb(bits, k) for k in ones.tolist()]
    prefixes = torch.nn.functional.pad(strings, (0, 1), value=ASK)
    return ParityQuestions(prefixes, ones % 2, torch.tensor(weights, dtype=torch.float64))

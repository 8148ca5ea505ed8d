"""A question that needs many hidden units at once: is the number of ones even or odd?"""

import itertools
import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ntpcompanion.planning.planning_checks import check_answer_logits
from ntpcompanion.validation import as_integer

ASK = 2  # the token after the bits, "="
WORDS = 3  # 0, 1 and "="


@dataclass(frozen=True, eq=False)
class ParityQuestions:
    """All strings of k bits and their parities.

    Fields
    ------
    prefixes
        (2^k, k + 1): k bits, then `ASK`.
    answers
        (2^k,): the exclusive or of the bits.
    weights
        (2^k,), probabilities: every number of ones from 0 to k is equally likely, and so is every
        arrangement of as many ones.
    """

    prefixes: Int[Tensor, "strings length"]
    answers: Int[Tensor, " strings"]
    weights: Float[Tensor, " strings"]

    def accuracy(self, logits: Float[Tensor, "strings words"]) -> float:
        """The probability that the word with the largest logit is the answer. Raises ValueError for
        what are not logits, a row for each string.
        """
        check_answer_logits("logits", logits, self.answers)
        right = self.weights[logits.argmax(dim=1) == self.answers]
        return min(1.0, float(right.sum()))  # rounding may carry the sum of all beyond 1

    def loss(self, logits: Float[Tensor, "strings words"]) -> Float[Tensor, ""]:
        """The expected cross-entropy of the answer, in nats. Raises ValueError as `accuracy`."""
        check_answer_logits("logits", logits, self.answers)
        chosen = logits.log_softmax(dim=1).gather(1, self.answers[:, None])[:, 0]
        return -(self.weights.to(logits.dtype) * chosen).sum()


def parity_questions(bits: int) -> ParityQuestions:
    """All questions of k bits: k look-ups of a bit at a position, whose exclusive or is the answer.

    Parameters
    ----------
    bits
        k, in 1 … 16.

    Returns
    -------
    ParityQuestions
        with probabilities, so that losses and accuracies are exact expectations.

    Raises
    ------
    ValueError
        a number of bits that is not an integer, or out of range.

    Examples
    --------
    >>> from ntpcompanion.planning.parity import parity_questions
    >>> questions = parity_questions(2)
    >>> questions.prefixes.tolist(), questions.answers.tolist()
    ([[0, 0, 2], [0, 1, 2], [1, 0, 2], [1, 1, 2]], [0, 1, 1, 0])
    """
    count = as_integer("bits", bits, 1, 16, "(all 2^bits strings are held)")
    strings = torch.tensor(list(itertools.product((0, 1), repeat=count)))
    ones = strings.sum(dim=1)
    weights = [1 / (count + 1) / math.comb(count, k) for k in ones.tolist()]
    prefixes = torch.nn.functional.pad(strings, (0, 1), value=ASK)
    return ParityQuestions(prefixes, ones % 2, torch.tensor(weights, dtype=torch.float64))

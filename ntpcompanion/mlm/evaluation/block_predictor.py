"""The predictor of a hidden Markov model with blocks that reads nothing of the context but the
block.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.checks import checked
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.mlm.evaluation.evaluate import TestSet


@checked
def block_divergence(language: HMM, test: TestSet) -> Float[Tensor, " sentences"]:
    """KL in nats, for each test sentence, from the exact conditional of the hidden word to its
    distribution at that position given only the block of the sentence.

    What the words of a sentence say beyond their block is worth as much as this on average: a model
    below it has learned something else of the context.

    Parameters
    ----------
    language
        of the family of `random_block_hmm`: a sentence stays in the block of its first state, and
        no word belongs to two blocks.
    test
        drawn from it.

    Returns
    -------
    Tensor
        (sentences,) float64, zero or positive up to rounding.

    Raises
    ------
    ValueError
        another kind of language, such as a plan that was not built; a test set of another language.

    Examples
    --------
    >>> from ntpcompanion.mlm import HMMPlan, block_divergence, draw_test_set
    >>> language = HMMPlan(states=2, words=6, length=4, blocks=2).build()  # a state is a block
    >>> test = draw_test_set(language, 100, positions=4, seed=0)
    >>> bool(block_divergence(language, test).abs().max() < 1e-12)
    True
    """
    positions, words = test.tokens.shape[1], test.conditional.shape[1]
    if words != language.vocab_size or positions < language.length:
        raise ValueError(
            f"`test` must be drawn from `language`, with {language.vocab_size} words and at least "
            f"{language.length} positions, got {words} and {positions}."
        )
    states = [language.initial]
    for _ in range(language.length - 1):
        states.append(states[-1] @ language.transition)
    # a state belongs to the block if it emits a word that can stand here
    in_block = (test.conditional > 0).double() @ language.emission.T > 0
    chances = torch.stack(states)[test.positions[:, 0]] * in_block
    guess = (chances / chances.sum(1, keepdim=True)) @ language.emission
    ratio = (test.conditional / guess).clamp_min(1e-300).log()
    return torch.where(test.conditional > 0, test.conditional * ratio, 0.0).sum(1)

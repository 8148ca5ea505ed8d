"""All sentences of a language at once, where they are few."""

import itertools

import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.checks import Size, checked
from ntpcompanion.languages.language import Language


@checked
def sentence_table(language: Language, length: Size) -> Float[Tensor, "*words"]:
    """The probability of every sentence of one length.

    Parameters
    ----------
    language
        with `log_prob`, such as an HMM; V words.
    length
        T, at least 1.

    Returns
    -------
    Tensor
        (V, …, V) with T axes, float64: entry [x₁, …, x_T] is Pr(x₁ … x_T). The V^T sentences are
        scored in one call.

    Raises
    ------
    ValueError
        a length below 1, or what is not a language.
    """
    words = range(language.vocab_size)
    sentences = torch.tensor(list(itertools.product(words, repeat=length)))
    return language.log_prob(sentences).exp().view((len(words),) * length)

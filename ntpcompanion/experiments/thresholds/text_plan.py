"""What experiments on the beginning of a text have in common."""

from typing import Annotated

import numpy as np
from jaxtyping import Int
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.languages.text.segmentation import split_text
from ntpcompanion.languages.text.words import encode


class TextPlan(experiment.Plan):
    """The beginning of a text as tokens, and the length of its contexts."""

    num_words: Annotated[int, Field(ge=2, description="words of the text, from its beginning")]
    vocab_size: Annotated[int, Field(ge=2, description="V: frequent words and one for the rest")]
    context_length: Annotated[int, Field(ge=1, description="words of a context")]
    text: Annotated[
        str, Field(min_length=1, description="path of a UTF-8 text, or a module with `topics`")
    ] = "pydoc_data.topics"
    tokenizer: Annotated[
        str, Field(min_length=1, description="words, characters, bytes, or a tokenizer.json")
    ] = "words"


def read_tokens(plan: TextPlan) -> tuple[Int[np.ndarray, " num_words"], str]:
    """The tokens of the plan's words, and the hash of the whole text.

    Raises ValueError, FileNotFoundError and ImportError as `read_text`, `split_text` and `encode`.
    """
    text = read_text(plan.text)
    words = split_text(text.content, plan.tokenizer).first(plan.num_words)
    return encode(words, plan.vocab_size).tokens, text.sha256

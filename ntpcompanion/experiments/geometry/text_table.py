"""The beginning of a text as next-token distributions."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from ntpcompanion.experiments.thresholds.text_plan import TextPlan, read_tokens
from ntpcompanion.languages.text.counting import count_contexts


@dataclass(frozen=True, eq=False)
class TextTable:
    """Distinct contexts of a text, oldest token first, with their frequencies (`weight`, of sum
    one) and the empirical distribution of the token that follows each; `text_sha256` is of the
    whole text.
    """

    contexts: Int[np.ndarray, "m t"]
    next_token: Float[np.ndarray, "m V"]
    weight: Float[np.ndarray, " m"]
    text_sha256: str

    @property
    def support(self) -> Bool[np.ndarray, "m V"]:
        """Which tokens follow each context."""
        return self.next_token > 0


def read_table(plan: TextPlan) -> TextTable:
    """Count the contexts of the plan's words, without those that every token follows: they have no
    margin.

    Raises ValueError, FileNotFoundError and ImportError as `read_tokens` and `count_contexts`, and
    ValueError if no context is left.
    """
    tokens, text_sha256 = read_tokens(plan)
    counts = count_contexts(tokens, plan.vocab_size, [plan.context_length])[0]
    selected = counts.support_sizes < plan.vocab_size
    if not selected.any():
        raise ValueError(
            f"`vocab_size`: all {plan.vocab_size} tokens follow every context of this text. Take "
            "more tokens, or longer contexts."
        )
    weight = counts.frequency[selected]
    return TextTable(
        counts.contexts[selected],
        counts.distributions.toarray()[selected],
        weight / weight.sum(),
        text_sha256,
    )

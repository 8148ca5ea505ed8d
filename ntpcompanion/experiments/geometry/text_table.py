"""The beginning of a text as next-token distributions."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from ntpcompanion.experiments.thresholds.text_plan import TextPlan, read_tokens
from ntpcompanion.languages.text.counting import count_contexts


@dataclass(frozen=True, eq=False)
class TextTable:
    """Distinct contexts of a text with what follows them.

    Fields
    ------
    contexts
        (m, t) the tokens of each context, oldest first.
    next_token
        (m, V) empirical distributions, one a row.
    weight
        (m,) frequencies of the contexts, of sum one.
    text_sha256
        hash of the whole text.
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
    """Count the contexts of the plan's words. Contexts that every token follows are left out: they
    have no margin.

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

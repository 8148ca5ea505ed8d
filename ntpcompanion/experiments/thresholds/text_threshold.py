"""At how many dimensions should the beginning of a text become separable?"""

from typing import Annotated

from pydantic import Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.thresholds.text_plan import TextPlan, read_tokens
from ntpcompanion.languages.text.counting import count_contexts
from ntpcompanion.linear.thresholds.order_parameters import saddle_threshold
from ntpcompanion.linear.thresholds.support_bounds import (
    distribution_of_supports,
    most_frequent_tokens,
    two_token_bound,
)
from ntpcompanion.randomness import stream

INPUTS = ("text",)  # fields of a plan that name files
# on the change of the order parameters, whose traces are k − 1
TOLERANCE = 0.02


class Plan(TextPlan):
    """The supports of a text's contexts, restricted to the successors that occur most often.

    `num_tokens` is at most `vocab_size`.
    """

    num_tokens: Annotated[int, Field(ge=2, description="k, most frequent successors that count")]
    draws: Annotated[int, Field(ge=2, description="normal draws of the prediction")]
    iterations: Annotated[int, Field(ge=1, description="of the order parameters, at most")]
    seed: Annotated[int, Field(ge=0, description="of the normal draws")]

    @model_validator(mode="after")
    def _tokens_fit(self) -> "Plan":
        if self.num_tokens > self.vocab_size:
            raise ValueError(
                f"`num_tokens` must be at most {self.vocab_size} (`vocab_size`), got "
                f"{self.num_tokens}."
            )
        return self


class Result(experiment.Result):
    """The predicted threshold, and the bound that two tokens give."""

    contexts: Annotated[int, Field(ge=1, description="m, distinct contexts of the text")]
    fraction: Annotated[float, Field(gt=0, le=1, description="contexts with one of the k tokens")]
    saddle: Annotated[float, Field(gt=0, description="predicted d/m from the k tokens")]
    two_tokens: Annotated[float, Field(gt=0, description="lower bound on d/m from two tokens")]
    change: Annotated[float, Field(ge=0, description="of the order parameters at the end")]
    text_sha256: Annotated[str, Field(description="hash of the whole text")]

    @property
    def predicted(self) -> float:
        """The larger of prediction and bound, d/m."""
        return max(self.saddle, self.two_tokens)


def run(plan: Plan) -> Result:
    """Predict the number of dimensions at which a text's table becomes separable, from the supports
    within its k most frequent successors.

    Returns prediction and bound in d/m, with m all contexts of the text. Cost that of
    `saddle_threshold` with k tokens: seconds at k = 24 with 8000 draws.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError
        As `read_tokens` and `count_contexts`.

    Examples
    --------
    >>> from ntpcompanion.experiments.thresholds import text_threshold
    >>> text = {"num_words": 120, "vocab_size": 12, "context_length": 2}
    >>> size = {"num_tokens": 3, "draws": 200, "iterations": 10}
    >>> found = text_threshold.run(text_threshold.Plan(**text, **size, seed=0))
    >>> found.predicted == max(found.saddle, found.two_tokens)
    True
    """
    tokens, text_sha256 = read_tokens(plan)
    counts = count_contexts(tokens, plan.vocab_size, [plan.context_length])[0]
    distribution = distribution_of_supports(counts.distributions.toarray() > 0)
    few, fraction = most_frequent_tokens(distribution, plan.num_tokens)
    rng = stream(plan.seed, "text threshold")
    threshold = saddle_threshold(
        few, rng, draws=plan.draws, iterations=plan.iterations, tolerance=TOLERANCE
    )
    return Result(
        contexts=len(counts.support_sizes),
        fraction=fraction,
        saddle=fraction * threshold.ratio,
        two_tokens=two_token_bound(distribution),
        change=threshold.change,
        text_sha256=text_sha256,
    )

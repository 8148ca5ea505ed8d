"""At how many dimensions would a text become separable if supports kept their sizes only?"""

from typing import Annotated

from pydantic import Field

from ntpcompanion.experiments.thresholds import text_crossing
from ntpcompanion.experiments.thresholds.text_plan import read_tokens
from ntpcompanion.languages.text.counting import count_contexts
from ntpcompanion.linear.thresholds.crossing import separability_crossing
from ntpcompanion.linear.thresholds.phase_diagram import table_of_sizes
from ntpcompanion.linear.thresholds.threshold import predicted_threshold
from ntpcompanion.randomness import stream

INPUTS = ("text",)  # fields of a plan that name files


class Plan(text_crossing.Plan):
    """The plan of `text_crossing`; `seed` also draws the supports."""


class Result(text_crossing.Sides):
    """Where a shuffled text becomes separable, and where it is predicted to."""

    predicted: Annotated[float, Field(gt=0, description="predicted d/m for these support sizes")]


def run(plan: Plan) -> Result:
    """Find by bisection where a table becomes separable whose supports have the sizes of the text's
    and hold random tokens.

    Returns where separability begins, with a proof on both sides, and where it is predicted to.
    Cost log2(m) times that of `check_separability`: minutes at m = 2000.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError
        As `read_tokens`, `count_contexts` and `table_of_sizes`.

    Examples
    --------
    >>> from ntpcompanion.experiments.thresholds import shuffled_text
    >>> shape = {"num_words": 30, "vocab_size": 8, "context_length": 1}
    >>> found = shuffled_text.run(shuffled_text.Plan(**shape, seed=0))
    >>> found.contexts, found.decided, 0 < found.predicted < 1
    (7, True, True)
    """
    tokens, text_sha256 = read_tokens(plan)
    sizes = count_contexts(tokens, plan.vocab_size, [plan.context_length])[0].support_sizes
    rng = stream(plan.seed, "shuffled text")
    crossing = separability_crossing(table_of_sizes(sizes, plan.vocab_size, len(sizes), rng))
    return Result(
        contexts=len(sizes),
        predicted=predicted_threshold(plan.vocab_size, sizes),
        separable_from=crossing.separable_from,
        not_separable_to=crossing.not_separable_to,
        text_sha256=text_sha256,
    )

"""How wide must a decoder be to come close to the entropy of its contexts?"""

from typing import Annotated, Literal

from pydantic import Field

from ntpcompanion.capacity.beginnings import (
    Beginnings,
    markov_documents,
    paragraph_documents,
    tabulate_beginnings,
)
from ntpcompanion.capacity.decoder import DecoderStack, count_parameters
from ntpcompanion.capacity.fitting import fit_decoders
from ntpcompanion.experiments import experiment
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.randomness import stream, torch_stream

INPUTS = ("text",)  # fields of a plan that name files
MARKOV_STATES, MARKOV_SUCCESSORS = 200, 3


class Plan(experiment.Plan):
    """Contexts of one seed, and decoders of several widths that are trained on them."""

    targets: Annotated[
        Literal["text", "markov", "random"],
        Field(description="next tokens of a text, of a Markov chain, or random with full support"),
    ]
    documents: Annotated[int, Field(ge=2, description="n, beginnings of paragraphs")]
    tokens: Annotated[int, Field(ge=2, description="T, of each beginning")] = 4
    dim: Annotated[int, Field(ge=2, multiple_of=2, description="d, of the embeddings")] = 8
    widths: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...],
        Field(min_length=1, description="m, hidden units of the decoders"),
    ]
    steps: Annotated[int, Field(ge=1, description="of Adam, each on all contexts")]
    learning_rate: Annotated[float, Field(gt=0, description="of Adam, the largest")] = 0.05
    text: Annotated[
        str, Field(min_length=1, description="path of a UTF-8 text, or a module with `topics`")
    ] = "pydoc_data.topics"
    seed: Annotated[int, Field(ge=0, description="of documents and initial parameters")]


class Result(experiment.Result):
    """How close each width came."""

    contexts: Annotated[int, Field(ge=1, description="N, distinct contexts")]
    vocab_size: Annotated[int, Field(ge=1, description="V, distinct tokens")]
    support: Annotated[int, Field(ge=1, description="pairs of a context and a next token")]
    entropy: Annotated[float, Field(ge=0, description="least loss of any model, nats")]
    parameters: Annotated[tuple[int, ...], Field(description="k of each decoder")]
    excess: Annotated[tuple[float, ...], Field(description="loss above the entropy, nats")]


def run(plan: Plan) -> Result:
    """Train decoders of several widths on the same contexts (Madden, Fox, Thrampoulidis 2025).

    Returns sizes of the problem, and how close to the entropy each decoder came. Cost 5 to 15 ms a
    step at the sizes of the record, for all widths together.

    Raises
    ------
    ValueError, FileNotFoundError
        As `read_text` and `paragraph_documents`.

    Examples
    --------
    >>> from ntpcompanion.experiments.thresholds import least_width
    >>> plan = {"targets": "markov", "documents": 8, "widths": (2, 4), "steps": 5, "seed": 0}
    >>> found = least_width.run(least_width.Plan(**plan))
    >>> len(found.excess), found.contexts < 24
    (2, True)
    """
    beginnings = contexts_of(plan)
    stack = DecoderStack(
        beginnings.vocab_size, plan.dim, plan.widths, torch_stream(plan.seed, "decoders")
    )
    excess = fit_decoders(stack, beginnings, steps=plan.steps, learning_rate=plan.learning_rate)
    return Result(
        contexts=beginnings.num_contexts,
        vocab_size=beginnings.vocab_size,
        support=int((beginnings.joint > 0).sum()),
        entropy=beginnings.entropy,
        parameters=tuple(
            count_parameters(beginnings.vocab_size, plan.dim, width) for width in plan.widths
        ),
        excess=tuple(map(float, excess)),
    )


def contexts_of(plan: Plan) -> Beginnings:
    """The contexts of a plan. Raises ValueError and FileNotFoundError as `read_text` and
    `paragraph_documents`.
    """
    rng = stream(plan.seed, f"{plan.documents} documents")
    if plan.targets == "markov":
        sizes = plan.documents, plan.tokens, MARKOV_STATES, MARKOV_SUCCESSORS
        return tabulate_beginnings(markov_documents(*sizes, rng))
    content = read_text(plan.text).content
    beginnings = tabulate_beginnings(paragraph_documents(content, plan.documents, plan.tokens, rng))
    return beginnings.with_random_targets(rng) if plan.targets == "random" else beginnings

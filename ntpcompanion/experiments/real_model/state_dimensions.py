"""How many dimensions of a language model's hidden states separate the contexts of a text?"""

from typing import Annotated, Any, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.experiments.real_model.model_text import (
    LoadedModel,
    ModelContexts,
    ModelText,
    load,
    read_contexts,
)
from ntpcompanion.experiments.thresholds.text_crossing import Sides
from ntpcompanion.languages.pretrained.hidden_states import hidden_states
from ntpcompanion.linear.separability.decision import Verdict, check_separability
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.linear.thresholds.order_parameters import saddle_threshold
from ntpcompanion.linear.thresholds.support_bounds import (
    distribution_of_supports,
    most_frequent_tokens,
    two_token_bound,
)
from ntpcompanion.randomness import stream

INPUTS = ("text",)  # fields of a plan that name files
DEPENDENT = 1e-10  # what is left of a column that is a combination of others, relative
# of the prediction, as in the chapter on thresholds
NUM_TOKENS, DRAWS, ITERATIONS, TOLERANCE = 24, 8_000, 200, 0.02
Kind = Literal["states", "shuffled", "Gaussian", "words", "principal"]


class Plan(ModelText):
    """Which vectors stand for the contexts, in the order in which coordinates are taken."""

    embeddings: Annotated[
        Kind,
        Field(
            description="states in a random orthonormal basis, the same with the successors of "
            "another context, N(0, 1) draws, sums of the words' vectors with one rotation for each "
            "place, or the mean and the principal components of the states"
        ),
    ]
    layer: Annotated[int, Field(ge=0, description="of the states, blocks of the model")]
    vocab_size: Annotated[
        int, Field(ge=3, description="V, most frequent successors and one for all others")
    ]
    max_iterations: Annotated[int, Field(ge=1, description="of one decision, at most")] = 1_600
    max_undecided: Annotated[int, Field(ge=1, description="decisions that fail before the end")] = 4


class Result(Sides):
    """Where the contexts become separable, and for Gaussian embeddings where they should."""

    predicted: Annotated[float | None, Field(description="d/m; None for other embeddings")]


def run(plan: Plan) -> Result:
    """Find by bisection how many coordinates of the embeddings make the table of a text separable
    (Thrampoulidis 2024, equation 6).

    Separability does not change under invertible linear maps, so d coordinates in a random
    orthonormal basis stand for any d random combinations of the states, and N(0, 1) draws for
    Gaussian vectors of any covariance of full rank: a null model with the spectrum of the states
    would be the same.

    Parameters
    ----------
    plan
        model, text, and what stands for a context.

    Returns
    -------
    Result
        with a proof on both sides.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError, MemoryError
        as `load_causal_model`, `read_contexts` and `hidden_states`.

    Notes
    -----
    SmolLM2-135M, 600 contexts of four tokens with 64 successors: half a minute on one core.

    Examples
    --------
    >>> from ntpcompanion.experiments import state_dimensions
    >>> part = {"segments": 8, "segment": 2, "context_length": 4, "contexts": 600, "seed": 0}
    >>> plan = state_dimensions.Plan(**part, embeddings="states", layer=30, vocab_size=64)
    >>> state_dimensions.run(plan).separable_from  # doctest: +SKIP
    """
    loaded = load(plan)
    data = read_contexts(plan, loaded.tokenizer)
    counts = data.merge_rare(plan.vocab_size)
    if plan.embeddings == "shuffled":
        counts = counts[stream(plan.seed, "successors").permutation(plan.contexts)]
    times = counts.sum(axis=1, keepdims=True)
    columns = orthonormal_columns(embed(plan, loaded, data))
    table = ContextTable(columns, counts / times, np.full(plan.contexts, 1 / plan.contexts))
    separable_from, not_separable_to = proved_sides(table, plan.max_iterations, plan.max_undecided)
    gaussian = plan.embeddings == "Gaussian"
    return Result(
        contexts=table.num_contexts,
        separable_from=separable_from,
        not_separable_to=not_separable_to,
        predicted=predicted_ratio(table, stream(plan.seed, "draws")) if gaussian else None,
        text_sha256=data.text_sha256,
    )


def proved_sides(
    table: ContextTable, max_iterations: int, max_undecided: int
) -> tuple[int | None, int]:
    """The smallest d that is proved separable, None if there is none, and the largest that is
    proved not separable, by bisection; where a decision fails its neighbours are tried, until
    `max_undecided` have failed.
    """
    low, high = 0, table.dim + 1
    undecided: set[int] = set()
    while len(undecided) < max_undecided:
        left = [d for d in range(low + 1, high) if d not in undecided]
        if not left:
            break
        d = left[len(left) // 2]
        first = ContextTable(table.embeddings[:, :d], table.next_token, table.weight)
        verdict = check_separability(first, max_iterations=max_iterations).verdict
        if verdict is Verdict.SEPARABLE:
            high = d
        elif verdict is Verdict.NOT_SEPARABLE:
            low = d
        else:
            undecided.add(d)
    return (high if high <= table.dim else None), low


def predicted_ratio(table: ContextTable, rng: np.random.Generator) -> float:
    """d/m at which Gaussian embeddings should separate these supports: the larger of the saddle
    point of the most frequent tokens and the bound from two tokens.
    """
    distribution = distribution_of_supports(table.support.toarray())
    few, fraction = most_frequent_tokens(distribution, min(NUM_TOKENS, table.vocab_size))
    saddle = saddle_threshold(few, rng, draws=DRAWS, iterations=ITERATIONS, tolerance=TOLERANCE)
    return max(fraction * saddle.ratio, two_token_bound(distribution))


def embed(plan: Plan, loaded: LoadedModel, data: ModelContexts) -> Float[np.ndarray, "m d"]:
    """What the plan says: at most m coordinates, as more change nothing."""
    rng = stream(plan.seed, "embeddings")
    if plan.embeddings == "Gaussian":
        return rng.standard_normal((plan.contexts, plan.contexts))
    if plan.embeddings == "words":
        vectors: Any = loaded.model.get_input_embeddings()
        words = vectors.weight.detach().double().cpu().numpy()[data.contexts]
        total = np.zeros(words[:, 0].shape)
        for place in range(words.shape[1]):
            total += words[:, place] @ _rotation(words.shape[2], rng)
        return total
    read = hidden_states(loaded.model, data.contexts, loaded.bos, (plan.layer,)).states[0]
    if plan.embeddings == "principal":
        return principal_coordinates(read)
    rotated: Float[np.ndarray, "m d"] = read @ _rotation(read.shape[1], rng)
    return rotated


def orthonormal_columns(matrix: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
    """Columns of which, for every k, the first k span what those of the matrix span: decisions
    need fewer steps then. Zero where a column is a combination of those before it.
    """
    columns = np.zeros(matrix.shape)
    for k, column in enumerate(matrix.T):
        rest = column
        for _ in range(2):  # the second time removes what rounding has left
            rest = rest - columns @ (columns.T @ rest)
        length = np.linalg.norm(rest)
        if length > DEPENDENT * np.linalg.norm(column):
            columns[:, k] = rest / length
    return columns


def principal_coordinates(states: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m k"]:
    """A constant, which stands for the mean, and then principal components by falling variance."""
    centred = states - states.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    scale = singular[0] / np.sqrt(len(states))
    return np.column_stack([np.full(len(states), scale), left * singular])


def _rotation(dim: int, rng: np.random.Generator) -> Float[np.ndarray, "d d"]:
    return np.linalg.qr(rng.standard_normal((dim, dim)))[0]

"""How many dimensions of a language model's hidden states separate the contexts of a text?"""

from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.experiments.real_model.model_text import (
    LoadedModel,
    ModelContexts,
    ModelText,
    load,
    read_contexts,
    table_of_counts,
)
from ntpcompanion.experiments.thresholds.text_crossing import Sides
from ntpcompanion.languages.pretrained.hidden_states import hidden_states
from ntpcompanion.linear.separability.decision import Verdict, check_separability
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream

INPUTS = ("text",)  # fields of a plan that name files
DEPENDENT = 1e-10  # what is left of a column that is a combination of others, relative
Kind = Literal["states", "centred", "Gaussian", "shuffled", "same last token"]


class Plan(ModelText):
    """Which vectors stand for the contexts, in the order in which coordinates are taken."""

    embeddings: Annotated[
        Kind,
        Field(
            description="states in a random orthonormal basis; the same minus their mean; N(0, 1) "
            "draws; the states with the successors of another context, or of another context that "
            "ends with the same token"
        ),
    ]
    layer: Annotated[int, Field(ge=0, description="of the states, blocks of the model")]
    max_iterations: Annotated[int, Field(ge=1, description="of one decision, at most")] = 4_800
    max_undecided: Annotated[int, Field(ge=1, description="decisions that fail before the end")] = 3


class Result(Sides):
    """Where the contexts become separable."""

    tokens: Annotated[int, Field(ge=2, description="V, different successors")]
    moved: Annotated[
        float, Field(ge=0, le=1, description="fraction of contexts with other successors")
    ]


def run(plan: Plan) -> Result:
    """Find by bisection how many coordinates of the embeddings make the table of a text separable
    (Thrampoulidis 2024, equation 6).

    Separability does not change under invertible linear maps, so d coordinates in a random
    orthonormal basis stand for any d random combinations of the states, and N(0, 1) draws for
    Gaussian vectors of mean 0 and any covariance of full rank.

    Returns that number with a proof on both sides. SmolLM2-135M, 300 contexts of four tokens with
    300 successors: a minute on one core.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError, MemoryError
        as `load_causal_model`, `read_contexts` and `hidden_states`.

    Examples
    --------
    >>> from ntpcompanion.experiments import state_dimensions
    >>> part = {"segments": 8, "segment": 2, "context_length": 4, "contexts": 300, "seed": 0}
    >>> plan = state_dimensions.Plan(**part, embeddings="states", layer=30)
    >>> state_dimensions.run(plan).separable_from  # doctest: +SKIP
    """
    loaded = load(plan)
    data = read_contexts(plan, loaded.tokenizer)
    rng, counts = stream(plan.seed, "successors"), data.counts
    if plan.embeddings in {"shuffled", "same last token"}:
        counts = data.exchange(rng, same_last=plan.embeddings == "same last token")
    table = table_of_counts(orthonormal_columns(embed(plan, loaded, data)), counts)
    separable_from, not_separable_to = proved_sides(table, plan.max_iterations, plan.max_undecided)
    return Result(
        contexts=table.num_contexts,
        tokens=table.vocab_size,
        separable_from=separable_from,
        not_separable_to=not_separable_to,
        moved=float(((counts > 0) != (data.counts > 0)).any(axis=1).mean()),
        text_sha256=data.text_sha256,
    )


def proved_sides(
    table: ContextTable, max_iterations: int, max_undecided: int
) -> tuple[int | None, int]:
    """The smallest d that is proved separable, None if there is none, and the largest that is
    proved not separable, by bisection: always in the middle of the longest run of dimensions that
    were not tried, until none is left or `max_undecided` decisions have failed.
    """
    low, high = 0, table.dim + 1
    undecided: list[int] = []
    while len(undecided) < max_undecided:
        ends = [low, *(d for d in sorted(undecided) if low < d < high), high]
        below, above = max(pairwise(ends), key=lambda run: run[1] - run[0])
        if above - below < 2:
            break
        d = (below + above) // 2
        first = ContextTable(table.embeddings[:, :d], table.next_token, table.weight)
        verdict = check_separability(first, max_iterations=max_iterations).verdict
        if verdict is Verdict.SEPARABLE:
            high = d
        elif verdict is Verdict.NOT_SEPARABLE:
            low = d
        else:
            undecided.append(d)
    return (high if high <= table.dim else None), low


def embed(plan: Plan, loaded: LoadedModel, data: ModelContexts) -> Float[np.ndarray, "m d"]:
    """What the plan says: at most m coordinates, as more change nothing."""
    rng = stream(plan.seed, "embeddings")
    if plan.embeddings == "Gaussian":
        return rng.standard_normal((plan.contexts, plan.contexts))
    read = hidden_states(loaded.model, data.contexts, loaded.bos, (plan.layer,)).states[0]
    if plan.embeddings == "centred":
        read = read - read.mean(axis=0)
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


def _rotation(dim: int, rng: np.random.Generator) -> Float[np.ndarray, "d d"]:
    return np.linalg.qr(rng.standard_normal((dim, dim)))[0]

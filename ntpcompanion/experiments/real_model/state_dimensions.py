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
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.linear.thresholds.crossing import separability_crossing
from ntpcompanion.randomness import stream

INPUTS = ("text",)  # fields of a plan that name files
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
    max_iterations: Annotated[int, Field(ge=1, description="of one decision, at most")] = 25_200


class Result(Sides):
    """Where the contexts become separable."""

    tokens: Annotated[int, Field(ge=2, description="V, different successors")]


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
    SmolLM2-135M, 400 contexts of four tokens with 330 successors: about a minute on one core.
    """
    loaded = load(plan)
    data = read_contexts(plan, loaded.tokenizer)
    embeddings = embed(plan, loaded, data)
    table = data.table(embeddings)
    if plan.embeddings == "shuffled":
        order = stream(plan.seed, "successors").permutation(plan.contexts)
        table = ContextTable(embeddings, table.next_token[order], table.weight)
    crossing = separability_crossing(table, max_iterations=plan.max_iterations)
    return Result(
        contexts=table.num_contexts,
        tokens=table.vocab_size,
        separable_from=crossing.separable_from,
        not_separable_to=crossing.not_separable_to,
        text_sha256=data.text_sha256,
    )


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


def principal_coordinates(states: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m k"]:
    """A constant, which stands for the mean, and then principal components by falling variance."""
    centred = states - states.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    scale = singular[0] / np.sqrt(len(states))
    return np.column_stack([np.full(len(states), scale), left * singular])


def _rotation(dim: int, rng: np.random.Generator) -> Float[np.ndarray, "d d"]:
    return np.linalg.qr(rng.standard_normal((dim, dim)))[0]

"""How close the angles of word vectors and context embeddings are to those predicted."""

from typing import Annotated

import numpy as np
from jaxtyping import Bool
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.geometry.gram_matrices import GramMatrices, cosines, pair_similarity, similarity
from ntpcompanion.geometry.predictions import PredictedGrams, equal_supports

Correlation = Annotated[float, Field(ge=-1.000001, le=1.000001)]


class Similarities(experiment.Result):
    """Correlation of the cosines of all pairs of different vectors with those of four predictions,
    and, as the paper has it, of all entries of the two matrices of cosines.
    """

    solution: Annotated[Correlation, Field(description="solution of the nuclear-norm SVM")]
    root: Annotated[Correlation, Field(description="centred supports, with the square root")]
    plain: Annotated[Correlation, Field(description="centred supports, without it")]
    printed: Annotated[Correlation, Field(description="supports, not centred")]
    with_diagonal: Annotated[Correlation, Field(description="solution, diagonals counted")]


class Angles(experiment.Result):
    """Agreement of measured angles with predicted ones, and the collapse of equal supports."""

    words: Annotated[Similarities, Field(description="of word vectors")]
    contexts: Annotated[Similarities, Field(description="of context embeddings")]
    same_mean: Annotated[
        float | None, Field(description="mean cosine of contexts with equal supports")
    ]
    same_least: Annotated[float | None, Field(description="the least such cosine")]


def compare_angles(
    grams: GramMatrices, predicted: PredictedGrams, support: Bool[np.ndarray, "m V"]
) -> Angles:
    """Compare Gram matrices of words (V, V) and contexts (m, m) with predictions from the supports.

    Raises ValueError if all cosines of a matrix are equal. Cost O(m² V).
    """
    together = cosines(grams.contexts)[equal_supports(support)]
    return Angles(
        words=_similarities(grams, predicted, "words"),
        contexts=_similarities(grams, predicted, "contexts"),
        same_mean=float(together.mean()) if together.size else None,
        same_least=float(together.min()) if together.size else None,
    )


def _similarities(grams: GramMatrices, predicted: PredictedGrams, kind: str) -> Similarities:
    measured = getattr(grams, kind)
    each = {
        name: getattr(getattr(predicted, name), kind)
        for name in ("solution", "root", "plain", "printed")
    }
    return Similarities(
        **{name: pair_similarity(measured, gram) for name, gram in each.items()},
        with_diagonal=similarity(cosines(measured), cosines(each["solution"])),
    )

"""Does free training on the beginning of a text produce the angles that its supports predict?"""

from itertools import pairwise
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.geometry.angles import Angles, compare_angles
from ntpcompanion.experiments.geometry.text_table import TextTable, read_table
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.experiments.thresholds.text_plan import TextPlan
from ntpcompanion.geometry.gram_matrices import gram_matrices
from ntpcompanion.geometry.predictions import PredictedGrams, predicted_grams
from ntpcompanion.geometry.ridge_minimizers import RidgeMinimum, ridge_path
from ntpcompanion.geometry.supports import (
    in_support_logits,
    polar_certificate,
    project_in_support,
)

RANK_TOLERANCE = 1e-4  # singular values below this share of the largest are zero


class Plan(TextPlan):
    """The beginning of a text, and the ridge path of free features on it."""

    ridges: Annotated[tuple[float, ...], Field(description="λ, positive, falling")]
    svm_tol: Annotated[float, Field(gt=0, lt=1, description="relative gap of the SVM")] = 1e-7
    path_tol: Annotated[float, Field(gt=0, lt=1, description="gap of each minimum")] = 1e-4

    @field_validator("ridges")
    @classmethod
    def _ridges_fall(cls, ridges: tuple[float, ...]) -> tuple[float, ...]:
        steps = pairwise(ridges)
        if not ridges or min(ridges) <= 0 or any(later >= earlier for earlier, later in steps):
            raise ValueError("should hold positive numbers that fall")
        return ridges


class Point(experiment.Result):
    """The minimizer at one penalty, against the prediction."""

    ridge: Annotated[float, Field(gt=0, description="λ")]
    gap: Annotated[float, Field(ge=0, description="certified, in units of the penalty")]
    excess: Annotated[float, Field(ge=0, description="loss above the floor, nats")]
    floor_ratio: Annotated[float, Field(ge=0, description="excess over λ times the least norm")]
    growth: Annotated[float, Field(description="size along the SVM's solution, in its units")]
    cosine: Annotated[float, Field(description="of the logits and the SVM's solution")]
    finite_error: Annotated[float, Field(ge=0, description="of the finite part, relative")]
    rank: Annotated[int, Field(ge=0, description="of the logits")]
    angles: Annotated[Angles, Field(description="against those predicted")]


class Result(experiment.Result):
    """The prediction with its certificates, and the path."""

    contexts: Annotated[int, Field(ge=1, description="m, distinct contexts")]
    supports: Annotated[int, Field(ge=1, description="different supports")]
    mean_support: Annotated[float, Field(ge=1, description="mean of S_j over the contexts, tokens")]
    norm: Annotated[float, Field(gt=0, description="nuclear norm of the SVM's solution")]
    gap: Annotated[float, Field(ge=0, description="certified relative gap of the SVM")]
    shorter: Annotated[float, Field(description="share by which it is below that of the proxy")]
    certified: Annotated[bool, Field(description="whether proposition 3 proves the proxy optimal")]
    negative_share: Annotated[
        float, Field(ge=0, le=1, description="entries off the supports that meet proposition 3")
    ]
    path: Annotated[tuple[Point, ...], Field(description="for falling penalties")]
    text_sha256: Annotated[str, Field(description="hash of the whole text")]


def run(plan: Plan) -> Result:
    """Solve the nuclear-norm SVM on the supports of a text's contexts, and follow the ridge path of
    word vectors and context embeddings that are both free (Zhao et al. 2024).

    Returns certified minima, and how close their angles are to those predicted. Cost that of
    `ridge_path` with d = V: some ten minutes at (m, V) = (450, 104) down to λ = 1e-7.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError
        As `read_table`.

    Examples
    --------
    >>> from ntpcompanion.experiments.geometry import geometry_text
    >>> text = {"num_words": 40, "vocab_size": 8, "context_length": 1}
    >>> found = geometry_text.run(geometry_text.Plan(**text, ridges=(1e-2, 1e-4)))
    >>> found.gap < 1e-6, found.path[0].growth < found.path[1].growth
    (True, True)
    """
    table = read_table(plan)
    predicted = predicted_grams(table.support, tol=plan.svm_tol)
    minima = ridge_path(table.next_token, table.weight, plan.ridges, tol=plan.path_tol)
    certificate = polar_certificate(table.support)
    return Result(
        contexts=len(table.support),
        supports=len(np.unique(table.support, axis=0)),
        mean_support=float(table.support.sum(axis=1).mean()),
        norm=predicted.answer.norm,
        gap=predicted.answer.duality_gap,
        shorter=predicted.shorter,
        certified=certificate.holds,
        negative_share=certificate.negative_share,
        path=tuple(_point(one, predicted, table) for one in minima),
        text_sha256=table.text_sha256,
    )


def path_table(result: Result) -> pd.DataFrame:
    """The path of a recorded run, a row for each λ.

    Parameters
    ----------
    result
        of a record.

    Returns
    -------
    pandas.DataFrame
        the numbers of each `Point`; similarities of `words` and `contexts` with the solution of the
        SVM; `same`, the mean cosine of contexts with equal supports; and `rate`, by how much
        `growth` rises for each factor e of the penalty, missing in the first row.
    """
    table = table_of(result.path)
    angles = [point.angles for point in result.path]
    return table.drop(columns="angles").assign(
        words=[one.words.solution for one in angles],
        contexts=[one.contexts.solution for one in angles],
        same=np.array([one.same_mean for one in angles], float),
        rate=table.growth.diff() / -np.log(table.ridge).diff(),
    )


def _point(minimum: RidgeMinimum, predicted: PredictedGrams, table: TextTable) -> Point:
    logits, limit = minimum.logits, predicted.answer.logits
    finite = in_support_logits(table.next_token)
    along = float((logits * limit).sum())
    away = np.linalg.norm(project_in_support(logits, table.support) - finite)
    size = np.linalg.norm(logits, 2)
    return Point(
        ridge=minimum.ridge,
        gap=minimum.gap,
        excess=minimum.excess,
        floor_ratio=minimum.excess / minimum.ridge / predicted.answer.norm,
        growth=along / float((limit**2).sum()),
        cosine=along / float(np.linalg.norm(logits) * np.linalg.norm(limit)),
        finite_error=float(away / np.linalg.norm(finite)),
        rank=int(np.linalg.matrix_rank(logits, tol=RANK_TOLERANCE * size)),
        angles=compare_angles(gram_matrices(logits), predicted, table.support),
    )

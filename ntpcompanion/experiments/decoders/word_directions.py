"""Do words that follow the same contexts of a text have similar vectors in the decoder of least
norm?
"""

from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field
from scipy.stats import spearmanr

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.thresholds.text_plan import TextPlan
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.languages.text.segmentation import split_text
from ntpcompanion.languages.text.words import encode
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream

INPUTS = ("text",)  # fields of a plan that name files


class Plan(TextPlan):
    """The beginning of a text, with N(0, 1) embeddings: any structure in the vectors comes from the
    supports.
    """

    dim: Annotated[int, Field(ge=1, description="d of the embeddings")]
    seed: Annotated[int, Field(ge=0, description="of the embeddings")]


class Result(experiment.Result):
    """Pairs of words stand in the order of `numpy.triu_indices(V, 1)`."""

    contexts: Annotated[int, Field(description="m")]
    words: tuple[str, ...]
    overlap: Annotated[
        tuple[float, ...],
        Field(description="contexts shared by two words over the geometric mean of their numbers"),
    ]
    cosine: Annotated[tuple[float, ...], Field(description="of the two vectors in W^mm")]
    gap: Annotated[float, Field(description="relative duality gap of W^mm")]
    about: Annotated[str, Field(description="a sentence on the text")]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each pair of words: `first`, `second`, `overlap`, `cosine`."""
        first, second = np.array(self.words)[np.stack(np.triu_indices(len(self.words), 1))]
        columns = {"first": first, "second": second}
        return pd.DataFrame(columns | {"overlap": self.overlap, "cosine": self.cosine})

    @property
    def rank(self) -> float:
        """The rank correlation of cosine and overlap over all pairs."""
        return float(spearmanr(self.overlap, self.cosine).statistic)

    def closest(self, number: int) -> pd.DataFrame:
        """The rows of the table with the largest cosines."""
        return self.table.sort_values("cosine", ascending=False, kind="stable").head(number)


def run(plan: Plan) -> Result:
    """Solve for W^mm of a text, and compare its word vectors by pairs.

    Parameters
    ----------
    plan
        the text and its embeddings.

    Returns
    -------
    Result
        cosines and overlaps of all pairs of words.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError
        as `read_text`, `split_text` and `encode`; contexts that no decoder separates.

    Notes
    -----
    A second at 1,400 words, V = 128 and d = 900.

    Examples
    --------
    >>> from ntpcompanion.experiments import word_directions
    >>> sizes = {"num_words": 200, "vocab_size": 16, "context_length": 2, "dim": 150}
    >>> word_directions.run(word_directions.Plan(**sizes, seed=0)).rank > 0.5
    True
    """
    split = split_text(read_text(plan.text).content, plan.tokenizer)
    encoding = encode(split.first(plan.num_words), plan.vocab_size)
    sizes = plan.vocab_size, plan.context_length, plan.dim
    table = ContextTable.from_tokens(encoding.tokens, *sizes, stream(plan.seed, "text"))
    solution = solve_ntp_svm(table, tol=1e-10)
    if solution.weights is None:
        raise ValueError(
            f"`dim` = {plan.dim} is too few for the {table.num_contexts} contexts of the text: no "
            "decoder separates them. Take more, or fewer words."
        )
    follows = table.support.toarray().astype(float).T  # one row for each word
    pairs = np.triu_indices(plan.vocab_size, 1)
    return Result(
        contexts=table.num_contexts,
        words=tuple(encoding.vocabulary),
        overlap=tuple(_cosines(follows)[pairs].tolist()),
        cosine=tuple(_cosines(solution.weights)[pairs].tolist()),
        gap=solution.duality_gap,
        about=split.about,
    )


def _cosines(vectors: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms > 0, norms, 1)  # a first word may follow nothing
    return unit @ unit.T

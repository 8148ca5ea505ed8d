"""Sentences of a pretrained language model that may say its most frequent tokens only, some of them
with the exact distribution of every word given the others.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.real_model.model_text import load
from ntpcompanion.experiments.real_model.stored_table import HalfMatrix
from ntpcompanion.languages.pretrained.causal_language import CausalLanguage
from ntpcompanion.languages.pretrained.load_models import frequent_words
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, mean_effect

MOST_WORDS = 2048  # whose numbers half precision holds exactly


class Plan(experiment.Plan):
    """A language as in Liu et al. (2023), section 3.2, and one sample of it. Sentences have a fixed
    length: nothing ends them.
    """

    source: Annotated[
        str, Field(min_length=1, description="of the model and its tokenizer, as in `load_opt`")
    ] = "smollm2"
    start: Annotated[
        str | None, Field(description="token before each sentence; None for the model's own")
    ] = None
    words: Annotated[int, Field(ge=2, le=MOST_WORDS, description="c, the most frequent tokens")]
    length: Annotated[int, Field(ge=2, description="T, tokens of a sentence")]
    counted: Annotated[int, Field(ge=1, description="sampled sentences that frequencies are of")]
    sentences: Annotated[int, Field(ge=1, description="to learn from")]
    tests: Annotated[int, Field(ge=1, description="with exact conditionals")]
    seed: Annotated[int, Field(ge=0, description="of the sample; frequencies have seed 0")]


class Result(experiment.Result):
    """One sample. Words are numbered from the most frequent one."""

    vocabulary: Annotated[tuple[str, ...], Field(description="(c,), as text")]
    length: Annotated[int, Field(description="T")]
    numbers: Annotated[HalfMatrix, Field(description="(sentences, T), to learn from")]
    test_numbers: Annotated[HalfMatrix, Field(description="(tests, T)")]
    test_conditionals: Annotated[HalfMatrix, Field(description="(tests · T, c), probabilities")]

    @property
    def tokens(self) -> Int[np.ndarray, "sentences T"]:
        """The sentences to learn from."""
        return self.numbers.array().astype(np.int64)

    @property
    def test_tokens(self) -> Int[np.ndarray, "tests T"]:
        """The other sentences."""
        return self.test_numbers.array().astype(np.int64)

    @property
    def conditionals(self) -> Float[np.ndarray, "tests T c"]:
        """The distribution of every word of these given all others, normalized after rounding."""
        p = self.test_conditionals.array().reshape(*self.test_tokens.shape, -1)
        return np.asarray(p / p.sum(axis=2, keepdims=True))

    @property
    def entropy(self) -> float:
        """Of these distributions, the mean in nats: an estimate of the floor."""
        p = self.conditionals
        return float(-(p * np.log(np.where(p > 0, p, 1))).sum(axis=2).mean())

    def spelled(self, number: int) -> list[str]:
        """The first sentences to learn from, as text."""
        return ["".join(self.vocabulary[z] for z in row) for row in self.tokens[:number]]


class Samples:
    """All samples of a record: numbers of `words`, `tests` and the `length` of sentences."""

    def __init__(self, runs: Sequence[Run[Plan, Result]]) -> None:
        self.results = [run.result for run in runs]
        self.words, self.length = len(self.results[0].vocabulary), self.results[0].length
        self.tests = sum(len(result.test_tokens) for result in self.results)

    @property
    def floor(self) -> Effect:
        """The entropy of the exact conditionals in nats, and its error over samples."""
        return mean_effect([result.entropy for result in self.results])


def run(plan: Plan) -> Result:
    """Choose the words, sample sentences, and try every word at every position of some of them.

    Parameters
    ----------
    plan
        the model, its words, and the size of the sample.

    Returns
    -------
    Result
        the sample.

    Raises
    ------
    ImportError, FileNotFoundError, MemoryError
        as `load_causal_model`.
    ValueError
        more words than the model has tokens, sentences beyond its positions.

    Notes
    -----
    The model reads counted · T tokens with all its words, then T for each sentence and
    c T (T − 1) / 2 for each test: for 200 words and 4,000 and 12 sentences of 6 tokens 60,000, four
    minutes on one core with SmolLM2.

    Examples
    --------
    >>> from ntpcompanion.experiments import sampled_language
    >>> sizes = {"words": 200, "length": 6, "counted": 1024, "sentences": 4000, "tests": 10}
    >>> sampled_language.run(sampled_language.Plan(**sizes, seed=0)).entropy  # doctest: +SKIP
    """
    model = load(plan)
    words = frequent_words(
        model.model,
        model.tokenizer,
        [model.bos],
        plan.words,
        plan.length,
        sentences=plan.counted,
        seed=0,
    )
    language = CausalLanguage(model.model, words, model.bos, plan.length)
    generator = torch.Generator().manual_seed(plan.seed)
    tokens = language.sample(plan.sentences, generator)
    tests = language.sample(plan.tests, generator)
    with torch.no_grad():
        conditionals = language.masked_conditional(tests).numpy()
    return Result(
        vocabulary=tuple(model.tokenizer.decode([int(word)]) for word in words),
        length=plan.length,
        numbers=HalfMatrix.of(tokens.double().numpy()),
        test_numbers=HalfMatrix.of(tests.double().numpy()),
        test_conditionals=HalfMatrix.of(conditionals.reshape(-1, plan.words)),
    )

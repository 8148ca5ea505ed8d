"""What every language of this package can say exactly about its sentences, and the least loss a
masked language model can reach on it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from ntpcompanion.checks import Device, Length, Range, Size, checked
from ntpcompanion.validation import require

PADDING = -1  # stands to the right of a sentence that is shorter than the longest of its batch
# what an enumeration goes through in seconds to a few minutes; more is a case for the estimate
MAX_SENTENCES = 1_000_000


@runtime_checkable
class Language(Protocol):
    """A distribution over sentences of words 0 … vocab_size − 1 whose masked conditionals are known
    exactly.

    A batch of sentences is an integer tensor (batch, length). A sentence shorter than the batch is
    followed by PADDING = −1; results at padded positions are 0. Probabilities are float64 on the
    device of the tokens.
    """

    @property
    def vocab_size(self) -> int:
        """How many words there are."""
        ...

    def sample(
        self, n: int, generator: torch.Generator, device: torch.device | str = "cpu"
    ) -> Int[Tensor, "n length"]:
        """Draw n sentences: computed where the generator lives, returned on `device`."""
        ...

    def log_prob(self, tokens: Integer[Tensor, "batch length"]) -> Float[Tensor, " batch"]:
        """The logarithm of the probability of each sentence in nats, −∞ for an impossible one."""
        ...

    def masked_conditional(
        self, tokens: Integer[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length vocab"]:
        """Pr(x_t = v | all other words), for every position t; raises ValueError for an impossible
        sentence.
        """
        ...

    def latent_posterior(
        self, tokens: Integer[Tensor, "batch length"]
    ) -> Float[Tensor, "batch ..."]:
        """The distribution of the latent variables given the sentence; raises ValueError for an
        impossible sentence.
        """
        ...


@dataclass(frozen=True)
class EntropyFloor:
    """E H(Pr(· | x₋ₜ)) in nats: the least loss of any masked language model, reached only by the
    true conditionals.

    Fields
    ------
    per_sentence, per_sentence_stderr
        with one position t drawn uniformly from each sentence, as the paper has it; and its
        standard error, 0 if exact.
    per_token, per_token_stderr
        with every position of the language equally likely, so that long sentences weigh more. The
        two agree if all lengths do.
    sentences
        how many sentences were drawn or enumerated.
    """

    per_sentence: float
    per_sentence_stderr: float
    per_token: float
    per_token_stderr: float
    sentences: int


@checked
def estimate_entropy_floor(
    language: Language,
    sentences: Annotated[int, Range(2, reason="to estimate a standard error")],
    generator: torch.Generator,
    device: Device = "cpu",
    *,
    batch: Size = 256,
) -> EntropyFloor:
    """The entropy floor from a sample of sentences, with standard errors.

    The entropies of the exact conditionals are averaged, not −log Pr of the words drawn: same mean,
    smaller variance. The standard error per token is that of a ratio of means (delta method), as
    lengths are random.

    Parameters
    ----------
    language
        a language with exact masked conditionals.
    sentences
        how many to draw, at least 2.
    generator
        draws the sentences.
    device
        where they are drawn and scored.
    batch
        how many at a time; memory and time are those of `masked_conditional`.

    Returns
    -------
    EntropyFloor
        per sentence and per token, with standard errors.

    Raises
    ------
    ValueError
        fewer than 2 sentences, a batch below 1, what is not a language, generator or device.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.languages import HMM, estimate_entropy_floor, exact_entropy_floor
    >>> step = torch.tensor([[0.9, 0.1], [0.1, 0.9]], dtype=torch.float64)
    >>> start = torch.full((2,), 0.5, dtype=torch.float64)
    >>> switch = HMM(start, step, torch.eye(2, dtype=torch.float64), length=4)
    >>> drawn = estimate_entropy_floor(switch, 500, torch.Generator().manual_seed(1))
    >>> exact = exact_entropy_floor(switch, [4])
    >>> round(exact.per_sentence, 4)
    0.2519
    >>> abs(drawn.per_sentence - exact.per_sentence) < 4 * drawn.per_sentence_stderr
    True
    """
    parts = []
    for first in range(0, sentences, batch):
        tokens = language.sample(min(batch, sentences - first), generator, device)
        parts.append(torch.stack(_entropies_and_lengths(language, tokens)).cpu())
    entropy, length = torch.cat(parts, 1)
    mean, token_mean = entropy / length, entropy.sum() / length.sum()
    residual = (entropy - token_mean * length) / length.mean()
    return EntropyFloor(
        float(mean.mean()), _stderr(mean), float(token_mean), _stderr(residual), sentences
    )


@checked
def exact_entropy_floor(
    language: Language, lengths: Annotated[Sequence[int], Length(1), Range(1)]
) -> EntropyFloor:
    """The entropy floor over all sentences whose length is one of `lengths`, by going through every
    string of words.

    The distribution is conditioned on these lengths: give the one length of an HMM, or all lengths
    of a grammar up to a maximum. Cost Σ vocab_size^length sentences. Impossible ones are left out.

    Parameters
    ----------
    language
        a language with exact masked conditionals.
    lengths
        the lengths of sentences, each at least 1.

    Returns
    -------
    EntropyFloor
        per sentence and per token; its standard errors are 0.

    Raises
    ------
    ValueError
        no list of lengths, one below 1, more than MAX_SENTENCES strings, or no possible sentence
        of these lengths.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.languages import HMM, exact_entropy_floor
    >>> step = torch.tensor([[0.9, 0.1], [0.1, 0.9]], dtype=torch.float64)
    >>> start = torch.full((2,), 0.5, dtype=torch.float64)
    >>> switch = HMM(start, step, torch.eye(2, dtype=torch.float64), length=4)
    >>> floor = exact_entropy_floor(switch, [4])
    >>> round(floor.per_sentence, 4), floor.sentences
    (0.2519, 16)
    """
    lengths = [int(length) for length in lengths]
    strings = sum(language.vocab_size**length for length in lengths)
    require(
        strings <= MAX_SENTENCES,
        f"`lengths` = {lengths} means {strings} strings. Use estimate_entropy_floor.",
    )
    totals, possible = torch.zeros(4, dtype=torch.float64), 0
    for tokens in _all_strings(language.vocab_size, lengths):
        probability = language.log_prob(tokens).exp()
        entropy, length = _entropies_and_lengths(language, tokens[probability > 0])
        probability = probability[probability > 0]
        totals += torch.stack(
            [
                (probability * column).sum()
                for column in (torch.ones_like(entropy), entropy / length, entropy, length)
            ]
        )
        possible += len(probability)
    require(possible, f"`lengths` = {lengths}: the language has no sentence of such a length.")
    mass, mean, entropy, length = totals.tolist()
    return EntropyFloor(mean / mass, 0.0, entropy / length, 0.0, possible)


def _all_strings(vocab_size: int, lengths: Sequence[int], rows: int = 4096) -> Iterator[Tensor]:
    for length in lengths:
        digit = vocab_size ** torch.arange(length - 1, -1, -1)
        for first in range(0, vocab_size**length, rows):
            numbers = torch.arange(first, min(first + rows, vocab_size**length))
            yield numbers[:, None] // digit % vocab_size


def _entropies_and_lengths(language: Language, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Σ_t H(Pr(· | x₋ₜ)) and the number of words, of each sentence, (batch,)."""
    return torch.special.entr(language.masked_conditional(tokens)).sum((1, 2)), (
        tokens != PADDING
    ).sum(1).double()


def _stderr(values: Tensor) -> float:
    return float(values.std() / len(values) ** 0.5)


def cumulative(
    distributions: Float[Tensor, "rows choices"],
) -> Float[Tensor, " rows_times_choices"]:
    """One sorted vector from which `draw` takes a choice of any row: row number plus cumulative
    probability, ending exactly at row + 1.
    """
    sums = distributions.cumsum(1)
    rows = torch.arange(len(sums), device=sums.device)
    return (sums / sums[:, -1:] + rows[:, None]).flatten()


def draw(
    cumulated: Tensor, rows: Int[Tensor, "*any"], choices: int, generator: torch.Generator
) -> Int[Tensor, "*any"]:
    """One choice from the distribution of each given row, by inversion; a choice of probability 0
    is never drawn. O(log) time for each.
    """
    uniform = torch.rand(
        rows.shape, generator=generator, device=generator.device, dtype=torch.float64
    )
    # row + uniform is rounded, and must not round to the next row
    below = torch.nextafter((rows + 1).double(), rows.double())
    return (
        torch.searchsorted(cumulated, torch.minimum(rows + uniform, below), right=True)
        - rows * choices
    )

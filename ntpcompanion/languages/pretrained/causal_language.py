"""A pretrained causal language model over some of its tokens: masked conditionals from the joint,
every word tried at every position.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn
from torch.nn import functional

from ntpcompanion.checks import Count, Device, Size, checked
from ntpcompanion.languages.language import PADDING
from ntpcompanion.languages.language_checks import check_possible, checked_tokens
from ntpcompanion.languages.pretrained.word_model import WordModel
from ntpcompanion.validation import as_integer, require


@dataclass(frozen=True, eq=False)
@checked
class CausalLanguage:
    """A causal model of transformers that may say c of its tokens only; a language in the sense of
    `Language`.

    Pr(x₁ … x_T) = Π_t Pr(x_t | bos, x₁ … x_{t−1}), each factor the softmax over the logits of
    `words` alone: the others are removed.

    Without `end` nothing ends a sentence: the distribution is that of the first words after `bos`,
    given how many they are, as with an `HMM`. With `end`, the logit of that token competes with
    those of the words from the second position on, and when it is drawn the sentence is over: it
    has at least one word and at most `length`, where it stops without being asked. The end is not a
    word and is never masked. The probabilities of all these sentences sum to 1; longer ones are
    impossible. Either way conditionals know the length of the sentence.

    The model stays where it is (`to` copies it) and computes there, in its own precision; logits
    are normalized in float64. Tokens may lie on any device, and results come back there.

    Fields
    ------
    model, words, bos, end
        see `WordModel`; word i of the language is token words[i] of the model.
    length
        of the sentences that `sample` draws, at most; it must fit the positions of the model.
    chunk
        how many strings the model reads at one time, which bounds the memory and changes results by
        rounding only.

    Raises
    ------
    ValueError
        what `WordModel` rejects; a length or chunk below 1; a length beyond the positions.

    Notes
    -----
    For B sentences of T words and a model of P weights without embeddings and output layer, L
    layers and width d: `log_prob` reads B T tokens, about 2 P operations each. `masked_conditional`
    reads the c B strings with another word at t from t on only, as their common start is kept as
    keys and values: c B T (T − 1) / 2 tokens, or T (T + 1) / 2 if the end is asked for too. At the
    sizes of the paper (OPT-125M, P = 85 million, T = 24, c = 2000) that is 9e13 operations a
    sentence: seconds on a GPU, half an hour on two cores. Memory beside the model and the 8 B T c
    bytes of the result, with b bytes a number of the model: about chunk · T · (2 L d b + 24 c), at
    the paper's sizes in float32 0.8 GB with 256 strings. Source: Liu et al. 2023, sections 3.2 and
    A.2.
    """

    model: nn.Module
    words: Integer[Tensor, " c"] | Sequence[int]
    bos: int
    length: int
    end: int | None = None
    chunk: Size = 256

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", self._reader.words)
        maximum = self._reader.positions
        as_integer("length", self.length, 1, int(maximum), "(positions of the model)")

    @cached_property
    def _reader(self) -> WordModel:
        return WordModel(self.model, self.words, self.bos, self.end)

    @property
    def vocab_size(self) -> int:
        """The number c of words."""
        return len(self.words)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self._reader.device

    @checked
    def to(self, device: Device) -> "CausalLanguage":
        """The same language with a copy of the model on `device`; itself if the model is there.
        Raises ValueError for what is not a device.
        """
        if self.device == torch.device(device):
            return self
        return CausalLanguage(
            copy.deepcopy(self.model).to(device),
            self.words,
            self.bos,
            self.length,
            self.end,
            self.chunk,
        )

    @checked
    def sample(
        self, n: Count, generator: torch.Generator, device: Device = "cpu"
    ) -> Int[Tensor, "n length"]:
        """Draw n sentences, (n, length) int64, followed by −1 where the end came early.

        Random numbers are drawn where the generator lives, distributions are computed where the
        model is: a generator on the CPU gives the same sentences on every device but for words
        drawn within rounding of a boundary. Raises ValueError for a negative n.
        """
        tokens = torch.full((n, self.length), PADDING, device=self.device)
        for part, uniform in zip(
            tokens.split(self.chunk), self._uniform(n, generator), strict=True
        ):
            for t, (_, drawn) in enumerate(self._steps(uniform)):
                part[:, t] = drawn
        return tokens.to(device)

    @checked
    def word_frequencies(self, sentences: Size, generator: torch.Generator) -> Float[Tensor, " c"]:
        """The share of each word among all words, from the mean distribution of the next word along
        `sentences` sampled ones.

        The distributions are averaged, not the words counted: same mean, smaller variance, and
        hardly two words alike. (c,) on the device of the model. Raises ValueError if `sentences` is
        below 1.
        """
        total = torch.zeros(self.vocab_size, dtype=torch.float64, device=self.device)
        for uniform in self._uniform(sentences, generator):
            for distribution, _ in self._steps(uniform):
                total += distribution[:, : self.vocab_size].sum(0)
        return total / total.sum()

    def log_prob(self, tokens: Integer[Tensor, "batch length"]) -> Float[Tensor, " batch"]:
        """The log-probability of each sentence in nats, (batch,); −∞ for an impossible one.

        Raises ValueError for what are not tokens and for more words than the model has positions.
        """
        inputs, targets, too_long = self._checked(tokens)
        parts = zip(inputs.split(self.chunk), targets.split(self.chunk), strict=True)
        score = torch.cat([self._tail(part, goals, 0) for part, goals in parts])
        return score.masked_fill(too_long, -torch.inf).to(tokens.device)

    def masked_conditional(
        self, tokens: Integer[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length vocab"]:
        """Pr(x_t = v | all other words), for every position t, (batch, length, c); 0 at padded
        positions.

        Raises ValueError for a sentence of probability 0, for what are not tokens and for more
        words than the model has positions.
        """
        check_possible(tokens, self.log_prob(tokens).isfinite())
        inputs, targets, _ = self._checked(tokens)
        result = torch.zeros(
            (*tokens.shape, self.vocab_size), dtype=torch.float64, device=tokens.device
        )
        for t in range(inputs.shape[1] if len(inputs) else 0):
            rows = (inputs[:, t] != PADDING).nonzero()[:, 0]
            pairs = torch.arange(len(rows) * self.vocab_size, device=self.device)
            joint = torch.cat(
                [
                    self._joint(inputs[rows], targets[rows], t, part)
                    for part in pairs.split(self.chunk)
                ]
            )
            result[rows.to(tokens.device), t] = (
                joint.view(len(rows), -1).softmax(1).to(tokens.device)
            )
        return result

    def latent_posterior(self, tokens: Integer[Tensor, "batch length"]) -> NoReturn:
        """Raises ValueError: the model has no latent variables."""
        raise ValueError("`latent_posterior` is not defined: the model has no latent variables.")

    def _checked(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens where the model is, the columns that follow bos and each word (−1 for nothing),
        and which sentences are too long.
        """
        tokens, lengths = checked_tokens(tokens, self.vocab_size)
        too_long = (lengths > self.length) & (self.end is not None)
        if self.end is not None:
            tokens = tokens[:, : self.length]
        maximum = self._reader.positions
        wide = f"{tokens.shape[1]} words a sentence, and the model positions for {maximum}"
        require(tokens.shape[1] <= maximum, f"`tokens` has {wide}. Cut them.")
        targets = functional.pad(tokens, (0, 1), value=PADDING)
        if self.end is not None:
            ended = lengths < self.length
            targets[ended, lengths[ended]] = self.vocab_size
        return tokens.to(self.device), targets.to(self.device), too_long.to(self.device)

    def _tail(self, tokens: Tensor, targets: Tensor, start: int, past: Any = None) -> Tensor:
        """The log-probability of what follows from position `start` on, given what `past` holds, of
        each string, (rows,).
        """
        stop = start + int((targets[:, start:] != PADDING).any(0).sum())
        if stop == start:
            return torch.zeros(len(tokens), dtype=torch.float64, device=self.device)
        log_p = self._reader.read(self._reader.inputs(tokens)[:, start:stop], past)[0]
        goals = targets[:, start:stop]
        return (
            log_p.gather(2, goals.clamp_min(0)[..., None])[..., 0]
            .masked_fill(goals == PADDING, 0.0)
            .sum(1)
        )

    def _joint(
        self, tokens: Tensor, targets: Tensor, t: int, pairs: Int[Tensor, " pairs"]
    ) -> Tensor:
        """The log-probability of word v at t and of the rest, given what stands before t, of
        sentence s, for pairs numbered s c + v.
        """
        sentence, word = pairs // self.vocab_size, pairs % self.vocab_size
        first, last = int(sentence[0]), int(sentence[-1])
        log_p, past = self._reader.read(self._reader.inputs(tokens[first : last + 1])[:, : t + 1])
        past.batch_select_indices(sentence - first)
        strings = tokens[sentence]
        strings[:, t] = word
        rest = self._tail(strings, targets[sentence], t + 1, past)
        return log_p[sentence - first, -1, word] + rest

    def _uniform(self, n: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """A number for each word of n sentences, all drawn at once, so that `chunk` does not change
        what is drawn.
        """
        numbers = torch.rand(
            n, self.length, generator=generator, device=generator.device, dtype=torch.float64
        )
        return numbers.to(self.device).split(self.chunk)

    def _steps(self, uniform: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Sample word by word: the distribution of the next column and the word drawn; zeros and
        padding where the sentence is over.
        """
        past, inputs, columns = (
            None,
            torch.full((len(uniform), 1), self.bos, device=self.device),
            self._reader.columns,
        )
        over = torch.zeros(len(uniform), dtype=torch.bool, device=self.device)
        for t in range(self.length):
            if over.all():
                return
            log_p, past = self._reader.read(inputs, past)
            p = log_p[:, -1].exp()
            sums = p.cumsum(1)
            # never one of probability 0
            drawn = torch.searchsorted(
                sums / sums[:, -1:], uniform[:, t : t + 1].contiguous(), right=True
            )
            inputs, before = columns[drawn], over
            over = before | (drawn[:, 0] == self.vocab_size)
            yield p.masked_fill(before[:, None], 0.0), drawn[:, 0].masked_fill(over, PADDING)

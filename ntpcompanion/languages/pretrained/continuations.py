"""What a causal language model writes after one of several texts, as a language with a hidden
variable: the probability of every continuation, and of the text that it follows.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn

from ntpcompanion.checks import Count, Device, Size, checked, need
from ntpcompanion.languages.language import PADDING
from ntpcompanion.languages.language_checks import check_possible, checked_tokens
from ntpcompanion.languages.pretrained.word_model import WordModel
from ntpcompanion.validation import require


@dataclass(frozen=True, eq=False)
@checked(
    need("prefixes", "len(prefixes) == joint.shape[1]", "have a row for each column of `joint`")
)
class Continuations:
    """Sentences of T words that follow one of K texts, each with its probability in a table; a
    language in the sense of `Language`, whose latent variable is the text.

    Fields
    ------
    prefixes
        (n, T − 1) the first words of all sentences that are possible, each once.
    joint
        (K, n, V) entry [k, i, v] is the probability of text k followed by prefixes[i] and word v,
        up to a factor: the table is normalized when it is read.

    Raises
    ------
    ValueError
        not one row of `prefixes` for each column of `joint`; no word; probabilities that are
        negative or not finite, or all zero.

    Notes
    -----
    Time O(T V) for each sentence; memory 8 (K + 1) n V bytes, and 4 V^(T − 1) for an index.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.languages import Continuations
    >>> joint = torch.tensor([[[3.0, 1.0]], [[0.0, 4.0]]])  # two texts, one first word, V = 2
    >>> language = Continuations(torch.tensor([[0]]), joint)
    >>> language.latent_posterior(torch.tensor([[0, 1]])).tolist()
    [[0.2, 0.8]]
    """

    prefixes: Int[Tensor, "rows columns"]
    joint: Float[Tensor, "K n V"]

    def __post_init__(self) -> None:
        joint = self.joint.double()
        usable = (
            bool(joint.isfinite().all()) and bool((joint >= 0).all()) and float(joint.sum()) > 0
        )
        require(usable, "`joint` must hold finite numbers of at least 0, and not only zeros.")
        object.__setattr__(self, "joint", joint / joint.sum())

    @property
    def vocab_size(self) -> int:
        """V, the number of words."""
        return self.joint.shape[2]

    @property
    def length(self) -> int:
        """T, the number of words of a sentence."""
        return self.prefixes.shape[1] + 1

    @cached_property
    def _sentences(self) -> Float[Tensor, "rows V"]:
        """Pr(prefix, word); the last row, of zeros, is that of all other prefixes."""
        return nn.functional.pad(self.joint.sum(0), (0, 0, 0, 1))

    @cached_property
    def _rows(self) -> Int[Tensor, "*words"]:
        """For each sequence of T − 1 words its row of `_sentences`."""
        shape = (self.vocab_size,) * self.prefixes.shape[1]
        rows = torch.full(shape, len(self.prefixes), dtype=torch.int32, device=self.joint.device)
        numbers = torch.arange(len(self.prefixes), dtype=torch.int32, device=self.joint.device)
        rows[tuple(self.prefixes.T)] = numbers
        return rows

    @cached_property
    def _cumulated(self) -> Float[Tensor, " sentences"]:
        return self._sentences[:-1].flatten().cumsum(0)

    @checked
    def to(self, device: Device) -> "Continuations":
        """The same language with its tables on `device`. Raises ValueError for what is not one."""
        return Continuations(self.prefixes.to(device), self.joint.to(device))

    @checked
    def sample(
        self, n: Count, generator: torch.Generator, device: Device = "cpu"
    ) -> Int[Tensor, "n length"]:
        """Draw n sentences by inversion. Raises ValueError for a negative n."""
        uniform = torch.rand(n, generator=generator, device=generator.device, dtype=torch.float64)
        sums = self._cumulated.to(generator.device)
        numbers = torch.searchsorted(sums, uniform * sums[-1], right=True)
        # one of probability 0 is never drawn: its sum is that of the sentence before it
        numbers = numbers.clamp_max(int(torch.searchsorted(sums, sums[-1:])))
        row, word = numbers // self.vocab_size, numbers % self.vocab_size
        prefixes = self.prefixes.to(generator.device)[row]
        return torch.cat([prefixes, word[:, None]], 1).to(device)

    def log_prob(self, tokens: Integer[Tensor, "batch length"]) -> Float[Tensor, " batch"]:
        """The log-probability of each sentence in nats, −∞ for an impossible one. Raises ValueError
        for what are not sentences of T words.
        """
        return self._probability(self._checked(tokens)).log()

    def masked_conditional(
        self, tokens: Integer[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length vocab"]:
        """Pr(x_t = v | all other words). Raises ValueError for a sentence of probability 0, and for
        what are not sentences of T words.
        """
        tokens = self._checked(tokens)
        check_possible(tokens, self._probability(tokens) > 0)
        words = torch.arange(self.vocab_size, device=tokens.device)
        columns = []
        for t in range(self.length):
            others = [words if s == t else tokens[:, s : s + 1] for s in range(self.length)]
            columns.append(self._sentences[self._rows[tuple(others[:-1])], others[-1]])
        joint = torch.stack([column.expand(len(tokens), -1) for column in columns], 1)
        return joint / joint.sum(2, keepdim=True)

    def latent_posterior(self, tokens: Integer[Tensor, "batch length"]) -> Float[Tensor, "batch K"]:
        """Pr(text | sentence). Raises ValueError as `masked_conditional`."""
        tokens = self._checked(tokens)
        check_possible(tokens, self._probability(tokens) > 0)
        joint = self.joint[:, self._rows[tuple(tokens[:, :-1].T)], tokens[:, -1]].T
        return joint / joint.sum(1, keepdim=True)

    @checked
    def entropy(self, positions: Sequence[int]) -> float:
        """Of the words at some positions 0 … T − 1 together, in nats; 0 of none."""
        words = self.vocab_size
        numbers = torch.zeros(len(self.prefixes), words, dtype=torch.int64)
        numbers = numbers.to(self.joint.device)
        for t in positions:
            last = t == self.length - 1
            column = (
                torch.arange(words, device=numbers.device) if last else self.prefixes[:, t, None]
            )
            numbers = numbers * words + column
        different, number = numbers.flatten().unique(return_inverse=True)
        sums = torch.zeros(len(different), dtype=torch.float64, device=numbers.device)
        sums = sums.index_add(0, number, self._sentences[:-1].flatten())
        return float(torch.special.entr(sums).sum())

    def _probability(self, tokens: Int[Tensor, "batch length"]) -> Float[Tensor, " batch"]:
        return self._sentences[self._rows[tuple(tokens[:, :-1].T)], tokens[:, -1]]

    def _checked(self, tokens: Tensor) -> Int[Tensor, "batch length"]:
        tokens, lengths = checked_tokens(tokens, self.vocab_size)
        whole = tokens.shape[1] == self.length and bool((lengths == self.length).all())
        require(whole, f"`tokens` must hold sentences of {self.length} words, without {PADDING}.")
        return tokens


@checked(
    need(
        "texts",
        "max(map(len, texts), default=0) + length <= reader.positions + 1",
        "leave room for {length} words in the {reader.positions} positions of the model",
    )
)
def enumerate_continuations(
    reader: WordModel,
    texts: Sequence[Sequence[int]],
    length: Size,
    beginnings: Size,
    *,
    chunk: Size = 256,
) -> tuple[Continuations, float]:
    """All continuations of `length` words of each of some texts, or the most probable ones.

    Parameters
    ----------
    reader
        the model and its V words.
    texts
        K sequences of tokens, each at least one; all equally probable.
    length
        T, words of a continuation, at least 2.
    beginnings
        at each length below T at most so many go on, the most probable ones on average over texts.
    chunk
        how many strings the model reads at one time.

    Returns
    -------
    Continuations and float
        the language given that a sentence has one of the beginnings, and the probability of that.

    Raises
    ------
    ValueError
        no text, an empty one, one that is too long for the model, a number out of range.

    Notes
    -----
    Strings share what the model reads of their common beginnings, so that it reads little more than
    K · beginnings tokens for each length.
    """
    require(len(texts) and all(len(text) for text in texts), "`texts` must hold tokens, each.")
    require(length > 1, f"`length` must be at least 2, got {length}.")
    words = len(reader.words)
    pasts = [reader.read(torch.tensor([list(text)], device=reader.device)) for text in texts]
    strings = torch.zeros(1, 0, dtype=torch.int64, device=reader.device)
    log_p = torch.stack([log_p[0, -1:, :words] for log_p, _ in pasts])
    for _ in range(length - 1):
        mixture = log_p.logsumexp(0).flatten()
        best = mixture.topk(min(beginnings, len(mixture))).indices.sort().values
        strings = torch.cat([strings[best // words], (best % words)[:, None]], 1)
        before = log_p.flatten(1)[:, best]
        after = torch.stack([_after(reader, past, strings, chunk) for _, past in pasts])
        log_p = before[:, :, None] + after
    joint = log_p.exp() / len(texts)
    return Continuations(strings, joint), float(joint.sum())


def _after(
    reader: WordModel, past: Any, strings: Int[Tensor, "n columns"], chunk: int
) -> Float[Tensor, "n V"]:
    """The log-distribution of the word after each string; neighbours in the list share most of
    their beginnings.
    """
    parts = []
    for part in strings.split(chunk):
        read, parents = copy.deepcopy(past), torch.zeros_like(part[:1, 0])
        before = torch.zeros_like(part[:, 0])
        for t in range(part.shape[1]):
            different, number = part[:, : t + 1].unique(dim=0, return_inverse=True)
            parents = torch.zeros_like(different[:, 0]).scatter(0, number, before)
            read.batch_select_indices(parents)
            log_p, read = reader.read(reader.columns[different[:, t:]], read)
            before = number
        parts.append(log_p[before, 0, : len(reader.words)])
    return torch.cat(parts)


@checked
def frequent_continuation_words(
    reader: WordModel,
    texts: Sequence[Sequence[int]],
    words: Size,
    length: Size,
    *,
    sentences: Size,
    generator: torch.Generator,
) -> Int[Tensor, " words"]:
    """The most frequent words, most frequent first, among continuations that are sampled: so many
    `sentences` of each text. Distributions are averaged, not words counted. Raises ValueError for
    more words than the reader has.
    """
    columns = len(reader.words)
    require(words <= columns, f"`words` must be at most {columns}, got {words}.")
    total = torch.zeros(columns, dtype=torch.float64, device=reader.device)
    for text in texts:
        log_p, past = reader.read(torch.tensor([list(text)], device=reader.device))
        past.batch_repeat_interleave(sentences)
        p = log_p[:, -1, :columns].exp().expand(sentences, -1)
        for t in range(length):
            total += p.sum(0)
            if t + 1 < length:
                drawn = torch.multinomial(p.cpu(), 1, generator=generator).to(reader.device)
                log_p, past = reader.read(reader.columns[drawn], past)
                p = log_p[:, 0, :columns].exp()
    return total.argsort(descending=True, stable=True)[:words]

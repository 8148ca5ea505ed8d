"""Plans: what to train, on what, and how, as plain values that a record can hold."""

import math
from dataclasses import dataclass, fields, replace
from typing import Literal, get_args, get_origin

import torch

from ntpcompanion.languages.grammars import random_levelled_pcfg
from ntpcompanion.languages.hmm import random_block_hmm
from ntpcompanion.languages.language import Language
from ntpcompanion.randomness import stream


@dataclass(frozen=True)
class LanguagePlan:
    """One language of the random families, named by its sizes and a seed.

    Fields
    ------
    family
        "hmm" (`random_block_hmm`) or "pcfg" (`random_levelled_pcfg`).
    states
        hidden states of the one, symbols of the other.
    words
        of the vocabulary.
    length
        of the sentences of an HMM; the longest sentence of a grammar of depth d has 2^(d − 1)
        words.
    parts
        blocks of an HMM, levels (depth) of a grammar.
    seed
        of the tables.

    Raises
    ------
    ValueError
        an unknown family; the languages themselves refuse sizes that do not fit.
    """

    family: Literal["hmm", "pcfg"]
    states: int
    words: int
    length: int
    parts: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        _check_choices(self)
        if self.family == "pcfg" and self.length != 2 ** (self.parts - 1):
            raise ValueError(
                f"`length` of a grammar with `parts` = {self.parts} levels must be "
                f"{2 ** (self.parts - 1)}, got {self.length}."
            )

    def build(self, device: torch.device | str = "cpu") -> Language:
        """The language itself, its tables on `device`; the same tables on every device."""
        rng = stream(self.seed, "language")
        if self.family == "hmm":
            return random_block_hmm(
                rng, states=self.states, vocab=self.words, length=self.length, blocks=self.parts
            ).to(device)
        # symbols of the last level; the fullest grammar that fits up to the sizes of the paper
        last = self.states // self.parts
        pairs, words = min(20, last**2), min(100, self.words)
        return random_levelled_pcfg(
            rng, symbols=self.states, vocab=self.words, depth=self.parts, pairs=pairs, words=words
        ).to(device)


@dataclass(frozen=True)
class ModelPlan:
    """The shape of a masked language model.

    Fields
    ------
    kind
        "transformer" or "lstm".
    width
        d, of the contextual vectors.
    layers
        how many.
    heads, inner
        of a transformer: attention heads, which must divide the width, and width of the hidden
        layer of each MLP (4 d in Table 3). An LSTM has neither: 1 and 0.
    words, positions
        size of the vocabulary, and the longest sentence.

    Raises
    ------
    ValueError
        an unknown kind, a size below 1, heads that do not divide the width, an LSTM of odd width or
        with heads.
    """

    kind: Literal["transformer", "lstm"]
    width: int
    layers: int
    heads: int = 1
    inner: int = 0
    words: int = 200
    positions: int = 32

    def __post_init__(self) -> None:
        _check_choices(self)
        _check_whole(self, "width", "layers", "heads", "words", "positions")
        if self.kind == "lstm":
            if self.width % 2:
                raise ValueError(
                    "`width` of an LSTM must be even, one half for each direction, got "
                    f"{self.width}."
                )
            if self.heads != 1 or self.inner:
                raise ValueError(
                    f"`heads` and `inner` of an LSTM must be 1 and 0, got {self.heads} and "
                    f"{self.inner}."
                )
            return
        _check_whole(self, "inner")
        if self.width % self.heads:
            raise ValueError(f"`heads` must divide `width` = {self.width}, got {self.heads}.")

    def for_language(self, language: Language, positions: int) -> "ModelPlan":
        """The same shape for the words of a language and sentences of up to `positions` words."""
        return replace(self, words=language.vocab_size, positions=positions)


@dataclass(frozen=True)
class TrainingPlan:
    """How a model is trained: every step sees sentences that no other step has seen.

    Fields
    ------
    steps, batch
        number of updates, and of sentences in each.
    micro_batch
        sentences that one process takes at a time, 0 for all of them: gradients are summed over
        micro-batches (and over processes) before each update. It must divide the batch. The
        sentences of a run depend on it.
    optimizer, rate, betas, epsilon, weight_decay
        "adamw" (weight matrices decay, biases, gains and embeddings of places do not) or "sgd"
        (without momentum or decay); learning rate.
    warmup, schedule
        share of the steps in which the rate rises linearly from 0; what follows: "linear" to 0, or
        "constant".
    mask_share
        share of the words that is masked, rounded, at least one a sentence; 0 is the one mask of
        Liu et al. 2023, section 3.1. A masked word is always replaced by the mask symbol.
    precision
        "float32" or "bfloat16" (autocast: parameters and their updates stay in float32).
    compile
        whether torch.compile translates the model, which takes a minute and pays on a GPU.
    seed
        of the parameters, the sentences and the masks.

    Raises
    ------
    ValueError
        a number out of its range, named with its value.

    Notes
    -----
    Liu et al. 2023, appendix A.3: AdamW, batch 4096, more than 30,000 steps, rate 1e-3, warm-up
    0.06. Neither decay is stated: linear, 0.01 and β₂ = 0.98, ε = 1e-6 are those of its released
    example. Its SGD (B.2): warm-up 0.12, then a constant rate of 1e-3.
    """

    steps: int
    batch: int
    micro_batch: int = 0
    optimizer: Literal["adamw", "sgd"] = "adamw"
    rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.98)
    epsilon: float = 1e-6
    weight_decay: float = 0.01
    warmup: float = 0.06
    schedule: Literal["linear", "constant"] = "linear"
    mask_share: float = 0.0
    precision: Literal["float32", "bfloat16"] = "float32"
    compile: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        _check_choices(self)
        _check_whole(self, "steps", "batch")
        if self.micro_batch < 0 or self.batch % (self.micro_batch or self.batch):
            raise ValueError(
                f"`micro_batch` must divide `batch` = {self.batch}, or be 0 for all of it, got "
                f"{self.micro_batch}."
            )
        if self.seed < 0:
            raise ValueError(f"`seed` must not be negative, got {self.seed}.")
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise ValueError(f"`rate` must be positive and finite, got {self.rate}.")
        for name, value in (
            ("betas", self.betas[0]),
            ("betas", self.betas[1]),
            ("warmup", self.warmup),
            ("mask_share", self.mask_share),
        ):
            if not 0 <= value < 1:
                raise ValueError(f"`{name}` must be at least 0 and below 1, got {value}.")
        for name in ("epsilon", "weight_decay"):
            if not (math.isfinite(value := getattr(self, name)) and value >= 0):
                raise ValueError(f"`{name}` must not be negative, and finite, got {value}.")

    @property
    def micro_batches(self) -> int:
        """How many micro-batches make a batch."""
        return self.batch // (self.micro_batch or self.batch)

    def rate_at(self, step: int) -> float:
        """The learning rate of update number `step` = 0, 1, … steps − 1."""
        rising = max(1, round(self.warmup * self.steps)) if self.warmup else 0
        if step < rising:
            return self.rate * (step + 1) / rising
        if self.schedule == "constant":
            return self.rate
        return self.rate * (self.steps - step) / (self.steps - rising)


def _check_choices(plan: object) -> None:
    for field in fields(plan):
        if get_origin(field.type) is Literal and (
            value := getattr(plan, field.name)
        ) not in get_args(field.type):
            raise ValueError(
                f"`{field.name}` must be one of {', '.join(get_args(field.type))}, got {value!r}."
            )


def _check_whole(plan: object, *names: str) -> None:
    for name in names:
        value = getattr(plan, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"`{name}` must be a whole number of at least 1, got {value!r}.")

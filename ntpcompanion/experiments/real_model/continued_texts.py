"""A pretrained model's continuations of some texts as a language to learn: enumerated once, and
kept beside the converted weights.
"""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import torch
from jaxtyping import Int
from torch import Tensor

from ntpcompanion.checks import Device, Length, Range, Size, checked, need
from ntpcompanion.experiments.real_model.model_text import load
from ntpcompanion.languages.pretrained.continuations import (
    Continuations,
    enumerate_continuations,
    frequent_continuation_words,
)
from ntpcompanion.languages.pretrained.gguf_weights import PACKAGED
from ntpcompanion.languages.pretrained.needed import needed
from ntpcompanion.languages.pretrained.word_model import WordModel
from ntpcompanion.mlm.training.checkpoints import load_checkpoint, save_checkpoint
from ntpcompanion.randomness import torch_stream


@dataclass(frozen=True)
@checked(need("texts", "len(set(texts)) == len(texts)", "be different"))
class ContinuationPlan:
    """The first words that a pretrained model writes after each of some texts.

    Fields
    ------
    texts
        K of them, equally probable: which one a sentence follows is hidden.
    words
        V, the most frequent tokens of continuations.
    length
        T, words of a sentence.
    beginnings
        of each length below T that go on at most, the most probable ones.
    sampled
        continuations of each text that the frequencies are of.
    source, start
        of the model, and the token before each text; None for the model's own.

    Raises
    ------
    ValueError
        a number out of its range, fewer than two texts, a text twice.

    Examples
    --------
    >>> from ntpcompanion.experiments import ContinuationPlan
    >>> texts = ("The king had three sons.", "The rice must boil for a while.")
    >>> plan = ContinuationPlan(texts, words=100, length=4, beginnings=5000)
    >>> plan.build().language.length  # doctest: +SKIP
    4
    """

    texts: Annotated[tuple[str, ...], Length(2)]
    words: Annotated[int, Range(2)]
    length: Annotated[int, Range(2)]
    beginnings: Size
    sampled: Size = 256
    source: str = "smollm2"
    start: str | None = None

    @checked
    def build(self, device: Device = "cpu") -> "ContinuedTexts":
        """Enumerate the language, or read it where a run has done so before (of a model that comes
        as a package). Raises what `load_causal_model` and `enumerate_continuations` raise.
        """
        path = self._path()
        state = load_checkpoint(path, repr(self)) if path else None
        if state is None:
            state = {**self._enumerated(), "identity": repr(self)}
            if path:
                save_checkpoint(path, state)
        language = Continuations(state["prefixes"].to(device), state["joint"].to(device))
        return ContinuedTexts(language, tuple(state["vocabulary"]), state["coverage"])

    def _path(self) -> Path | None:
        if self.source not in PACKAGED:
            return None
        model = PACKAGED[self.source].sha256
        name = hashlib.sha256(f"{model} {asdict(self)}".encode()).hexdigest()[:16]
        home = Path(needed("huggingface_hub.constants").HF_HOME)
        return home / "enumerated-languages" / f"{name}.pt"

    def _enumerated(self) -> dict[str, object]:
        loaded = load(self)
        model, tokenizer = loaded.model, loaded.tokenizer
        texts = [
            [loaded.bos, *tokenizer(text, add_special_tokens=False)["input_ids"]]
            for text in self.texts
        ]
        special = {loaded.bos, *tokenizer.all_special_ids}
        ordinary = sorted({*range(min(len(tokenizer), model.config.vocab_size))} - special)
        chosen = frequent_continuation_words(
            WordModel(model, ordinary, loaded.bos),
            texts,
            self.words,
            self.length,
            sentences=self.sampled,
            generator=torch_stream(0, "frequent words"),
        )
        words = torch.tensor(ordinary)[chosen.cpu()]
        reader = WordModel(model, words, loaded.bos)
        language, coverage = enumerate_continuations(reader, texts, self.length, self.beginnings)
        return {
            "prefixes": language.prefixes.cpu(),
            "joint": language.joint.cpu().float(),
            "vocabulary": [tokenizer.decode([int(word)]) for word in words],
            "coverage": coverage,
        }


@dataclass(frozen=True, eq=False)
class ContinuedTexts:
    """The language, its words as text, and the probability that a continuation in these words has
    one of its beginnings.
    """

    language: Continuations
    vocabulary: tuple[str, ...]
    coverage: float

    def spelled(self, tokens: Int[Tensor, "n length"]) -> list[str]:
        """Sentences as text."""
        return ["".join(self.vocabulary[word] for word in row) for row in tokens.tolist()]

"""The distribution of the next word under a causal language model that may say some of its tokens
only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn
from torch.nn import functional

from ntpcompanion.validation import as_integer, as_integer_array, check_shape, require

TOKENS = "(tokens of the model)"


@dataclass(frozen=True, eq=False)
class WordModel:
    """A causal model of transformers whose logits are removed but for c words, and, from the second
    position on, the end.

    Fields
    ------
    model
        a causal language model of transformers, in evaluation mode.
    words
        (c,) different tokens of the model; word i is token words[i].
    bos
        the token that the model reads before the first word.
    end
        the token that ends a sentence, not one of `words`; None if nothing does. It may be `bos`,
        as in OPT.

    Raises
    ------
    ValueError
        a model without output layer, in training mode, or that changes its logits after that layer;
        tokens that the model does not have, or twice; `end` among the words.
    """

    model: nn.Module
    words: Integer[Tensor, " c"] | Sequence[int]
    bos: int
    end: int | None = None

    def __post_init__(self) -> None:
        check_model(self.model)
        tokens = self._output.out_features
        words = _checked_words(self.words, tokens)
        object.__setattr__(self, "words", words)
        as_integer("bos", self.bos, 0, tokens - 1, TOKENS)
        if self.end is not None:
            as_integer("end", self.end, 0, tokens - 1, TOKENS)
            require(self.end not in words, f"`end` = {self.end} must not be one of `words`.")
        self._check_unchanged_logits()

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self._output.weight.device

    @property
    def positions(self) -> float:
        """How many tokens the model can read; infinity if it does not say."""
        return getattr(self.model.config, "max_position_embeddings", None) or math.inf

    @property
    def columns(self) -> Int[Tensor, " columns"]:
        """The tokens of the model that the columns of a distribution stand for, which are the c
        words and then the end if there is one.
        """
        ends = [] if self.end is None else [self.end]
        return torch.cat([self._ids, self._ids.new_tensor(ends)]).to(self.device)

    def inputs(self, tokens: Int[Tensor, "rows length"]) -> Int[Tensor, "rows length+1"]:
        """What the model reads: bos, then the words; any word in place of padding, which changes
        nothing before it.
        """
        return functional.pad(
            self._ids.to(self.device)[tokens.clamp_min(0)], (1, 0), value=self.bos
        )

    def read(
        self, inputs: Int[Tensor, "rows n"], past: Any = None
    ) -> tuple[Float[Tensor, "rows n columns"], Any]:
        """The logarithms of the distribution of what follows each input, float64, and keys and
        values of all that was read.

        Parameters
        ----------
        past
            the keys and values of what stands before the inputs, to which those of the inputs are
            added in place: copy it to read on from it twice. None if they start with bos, after
            which the end is impossible.

        Raises
        ------
        ValueError
            if the model gives logits that are not numbers.
        """
        with torch.no_grad():
            read = self.model.base_model(input_ids=inputs, past_key_values=past, use_cache=True)
            logits = self._logits(read.last_hidden_state).double()
        if past is None:
            logits[:, 0, len(self.words) :] = -torch.inf
        log_p = logits.log_softmax(-1)
        require(not log_p.isnan().any(), "`model` gives logits that are not numbers.")
        return log_p, read.past_key_values

    @property
    def _ids(self) -> Int[Tensor, " c"]:
        """The words: a tensor once they are checked."""
        return cast(Tensor, self.words)

    @property
    def _output(self) -> nn.Linear:
        return self.model.get_output_embeddings()

    def _logits(self, hidden: Tensor) -> Tensor:
        """Of the columns alone: the whole output layer would cost OPT-125M half as much time again,
        and 25 times the memory.
        """
        bias = self._output.bias
        return functional.linear(
            hidden, self._output.weight[self.columns], None if bias is None else bias[self.columns]
        )

    def _check_unchanged_logits(self) -> None:
        """One token through the model and through its output layer alone: some models scale or cap
        what that layer gives.
        """
        with torch.no_grad():
            bos = torch.tensor([[self.bos]], device=self.device)
            whole = self.model(input_ids=bos).logits[..., self.columns]
            ours = self._logits(self.model.base_model(input_ids=bos).last_hidden_state)
        apart, rounding = float((whole - ours).abs().max()), torch.finfo(whole.dtype).eps ** 0.5
        change = f"{type(self.model).__name__} changes its logits after the output layer"
        fits = apart <= rounding * max(1.0, float(whole.abs().max()))
        require(fits, f"`model`: {change}, by {apart:.3g} after bos. Use another, as OPT.")


def check_model(model: nn.Module) -> None:
    """Raises ValueError unless `model` is causal, and in evaluation mode."""
    output = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    causal, got = isinstance(output, nn.Linear), type(model).__name__
    require(causal, f"`model` must be a causal language model of transformers, got {got}.")
    require(not model.training, "`model` is in training mode. Call model.eval() first.")


def _checked_words(words: Tensor | Sequence[int], tokens: int) -> Tensor:
    """The words as an int64 tensor on the CPU; ValueError unless they are different tokens of the
    model.
    """
    ids = torch.tensor(as_integer_array("words", words), dtype=torch.int64)
    check_shape("words", tuple(ids.shape), (None,))
    for word in (int(ids.min()), int(ids.max())):
        as_integer("words", word, 0, tokens - 1, TOKENS)
    require(len(ids.unique()) == len(ids), f"`words` must be different, got {ids.tolist()}.")
    return ids

"""Checks of what the functions of this room share: models that answer, questions as tokens, logits
beside their tokens, graphs for each objective.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.tensor_checks import check_as_many, check_on_device, check_tokens
from ntpcompanion.validation import (
    argument_check,
    as_integer,
    as_integer_array,
    check_all,
    check_module,
    check_tensor,
    described,
)


@argument_check
def check_planner(name: str, model: Any) -> None:
    """ValueError unless the value is a causal language model: one that is not would see the tokens
    it is to predict.
    """
    check_module(name, model, LanguageModel)
    if not getattr(model, "causal", False):
        raise ValueError(
            f"`{name}` must be causal, as those of `build_planner` are, got {described(model)} "
            "that sees later tokens."
        )


@argument_check
def check_vocabulary(name: str, model: Any, task: Any) -> None:
    """ValueError unless the model has a word for each token of the task."""
    if model.plan.words < task.vocabulary:
        raise ValueError(
            f"`{name}` must have a word for each of the {task.vocabulary} tokens of the task, got "
            f"{described(model)} with {model.plan.words} words."
        )


def check_questions(task: Any, prefix: Any, fed: Any, bias: Tensor) -> None:
    """ValueError unless tensors hold questions, and answers but their last token, on the device of
    a parameter of the model.
    """
    for name, tokens, columns in (
        ("prefix", prefix, task.prefix_length),
        ("fed", fed, task.length - 1),
    ):
        check_tokens(name, tokens)
        _check_columns(name, tokens, columns, task)
        check_on_device(name, tokens, bias)
    check_as_many("fed", fed, "prefix", prefix)


def check_asked_arrays(task: Any, prefix: Any, fed: Any, words: int) -> None:
    """ValueError unless arrays hold questions and answers but their last token, in `words`."""
    arrays = as_integer_array("prefix", prefix), as_integer_array("fed", fed)
    columns = task.prefix_length, task.length - 1
    for name, array, wanted in zip(("prefix", "fed"), arrays, columns, strict=True):
        _check_columns(name, array, wanted, task)
        if array.size and not 0 <= array.min() <= array.max() < words:
            raise ValueError(
                f"`{name}` must lie in 0 … {words - 1}, got entries from {array.min()} to "
                f"{array.max()}."
            )
    if len(arrays[0]) != len(arrays[1]):
        raise ValueError(
            f"`fed` must have a row for each of the {len(arrays[0])} rows of `prefix`, got "
            f"{described(fed)}."
        )


@argument_check
def _check_columns(name: str, tokens: Any, columns: int, task: Any) -> None:
    if tokens.ndim != 2 or tokens.shape[1] != columns:
        raise ValueError(
            f"`{name}` must have {columns} columns, as {task} says, got shape "
            f"{tuple(tokens.shape)}."
        )


@argument_check
def check_found(name: str, predictions: Any, count: int, task: Any) -> None:
    """ValueError unless a predictor has returned an array of log probabilities (n, l, V)."""
    fits = (
        isinstance(predictions, np.ndarray)
        and predictions.ndim == 3
        and predictions.dtype.kind == "f"
    )
    if (
        not fits
        or predictions.shape[:2] != (count, task.length)
        or predictions.shape[2] < task.labels
    ):
        raise ValueError(
            f"`{name}` must return log probabilities, an array of shape ({count}, {task.length}, "
            f"{task.vocabulary}), got {described(predictions)}."
        )


def check_objectives(objectives: Sequence[Any], held_out: Sequence[Any]) -> None:
    """ValueError unless every objective has a weight for each token of an answer of its task."""
    for number, (objective, graphs) in enumerate(zip(objectives, held_out, strict=False)):
        if (weights := len(objective.weights)) != (length := graphs.task.length):
            raise ValueError(
                f"`objectives` must have a weight for each of the {length} tokens of an answer, "
                f"got {weights} weights at {number}."
            )


def check_graphs_or_none(name: str, values: Any, kind: type, held_out: Sequence[Any]) -> None:
    """ValueError unless the value is None, or a list of graphs of each task with answers as long as
    those held out.
    """
    if values is None:
        return
    check_all(name, values, kind)
    for number, (graphs, other) in enumerate(zip(values, held_out, strict=False)):
        if not len(graphs):
            raise ValueError(
                f"`{name}` must hold graphs of each task, got a list, none at {number}."
            )
        if graphs.task.length != other.task.length:
            raise ValueError(
                f"`{name}` must hold graphs whose answers have {other.task.length} tokens, as "
                f"those of `held_out`, got a list with {graphs.task.length} at {number}."
            )


@argument_check
def check_predictor(name: str, predict: Any) -> None:
    """ValueError if the value is a network, which takes other arguments than a predictor."""
    if isinstance(getattr(predict, "_orig_mod", predict), LanguageModel):
        raise ValueError(
            f"`{name}` must be a function of questions and answers, got {described(predict)}. Use "
            "network_predictor(model, task)."
        )


@argument_check
def check_stops(stops: Any) -> None:
    """ValueError unless the value is a list of numbers, which are not looked at. Arrays are
    rejected: whether they hold any is not a question to them.
    """
    listed = isinstance(stops, Collection | Iterator) and not isinstance(stops, str | bytes)
    if hasattr(stops, "__array__") or (stops and not listed):
        raise ValueError(f"`stops` must be a list of integers, got {described(stops)}.")


@argument_check
def check_room(model: Any, prefix: Tensor, pauses: int) -> None:
    """ValueError unless the positions of a model are enough for a prefix and pauses."""
    spare = model.plan.positions - prefix.shape[1]
    if spare < 0:
        raise ValueError(
            f"`prefix` must have at most {model.plan.positions} columns, the `positions` of the "
            f"model, got {prefix.shape[1]}. Build a model with more `positions`."
        )
    if as_integer("pauses", pauses, 0) > spare:
        raise ValueError(
            f"`pauses` must be at most {spare} after {prefix.shape[1]} tokens, as the model has "
            f"{model.plan.positions} `positions`, got {pauses}. Build a model with more."
        )


@argument_check
def check_drawn_where(generator: torch.Generator, tokens: Tensor) -> None:
    """ValueError unless a generator is on the device of the tokens."""
    if tokens.device.type not in (generator.device.type, "meta"):
        raise ValueError(
            f"`generator` must be on the device of `tokens`, {tokens.device}, got a "
            f"torch.Generator on {generator.device}."
        )


@argument_check
def check_targets(name: str, tokens: Tensor, pause: int, words: int) -> None:
    """ValueError unless every token but the first of a row is a word of the logits or a pause."""
    targets = tokens[:, 1:]
    wrong = targets[(targets != pause) & ((targets < 0) | (targets >= words))]
    if len(wrong):
        raise ValueError(
            f"`{name}` must be words in 0 … {words - 1} or pauses ({pause}), got {int(wrong[0])}."
        )


def check_answer_logits(name: str, logits: Any, answers: Tensor) -> None:
    """ValueError unless the value holds floating-point logits of 0 and 1, and perhaps of more, for
    each answer, on the device of the answers.
    """
    check_tensor(name, logits)
    if not logits.is_floating_point() or logits.ndim != 2 or logits.shape[1] < 2:
        raise ValueError(
            f"`{name}` must be a matrix of floating-point numbers, a column for each word, got "
            f"{described(logits)}."
        )
    check_as_many(name, logits, "answers", answers)
    check_on_device(name, logits, answers, "`answers`")


def check_predictions(name: str, logits: object, tokens: Tensor) -> None:
    """ValueError unless the value holds a row of floating-point logits for each token."""
    check_tensor(name, logits)
    if not isinstance(logits, Tensor) or not logits.is_floating_point():
        raise ValueError(f"`{name}` must hold floating-point numbers, got {described(logits)}.")
    if logits.ndim != 3 or logits.shape[:2] != tokens.shape:
        raise ValueError(
            f"`{name}` must have shape ({', '.join(map(str, tokens.shape))}, words), a row for "
            f"each of `tokens`, got shape {tuple(logits.shape)}."
        )
    check_on_device("tokens", tokens, logits, "`logits`")

"""What `train` rejects before anything is computed."""

from collections.abc import Collection, Mapping
from pathlib import Path

import torch
from torch import Tensor

from ntpcompanion.argument_check import argument_check
from ntpcompanion.checks import check_named_tensors
from ntpcompanion.languages.language import Language, check_language
from ntpcompanion.mlm.training.distributed import Processes
from ntpcompanion.mlm.training.regularizer import Regularizer
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.validation import as_integer, check_device, check_instance


def check_kinds(
    model_plan: ModelPlan,
    plan: TrainingPlan,
    language: Language,
    start: Mapping[str, Tensor] | None,
    second: Regularizer | None,
    processes: Processes,
) -> None:
    """ValueError unless every argument of `train` is of its kind."""
    check_instance("model_plan", model_plan, ModelPlan)
    check_instance("plan", plan, TrainingPlan)
    check_language(language)
    check_instance("processes", processes, Processes)
    if start is not None:
        check_named_tensors("start", start)
    if second is not None:
        check_instance("second", second, Regularizer)


@argument_check
def check_where(device: torch.device | str, checkpoint: Path | None, save_every: int) -> None:
    """ValueError for what is not a device or no file, and for a number of steps below 1."""
    check_device("device", device)
    as_integer("save_every", save_every, 1)
    if checkpoint is not None:
        check_instance("checkpoint", checkpoint, Path)


def checked_stops(
    model_plan: ModelPlan,
    plan: TrainingPlan,
    language: Language,
    stops: Collection[int],
    second: Regularizer | None,
    processes: Processes,
) -> set[int]:
    """The steps at which `train` stops, the last one included. ValueError for vocabularies that
    differ, stops outside of the run, and a second term in several processes.
    """
    if language.vocab_size != model_plan.words:
        raise ValueError(
            f"`model_plan` has {model_plan.words} words and the language {language.vocab_size}. "
            "Give it `words` of the language."
        )
    stops = plan.with_last(stops)
    if second and processes.count > 1:
        raise ValueError(
            f"`second` must be None in {processes.count} processes, which share the loss of the "
            "masked words only. Use one process."
        )
    return stops

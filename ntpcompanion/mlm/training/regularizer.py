"""What a model may be trained on beside the loss of the masked words."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from ntpcompanion.networks.language_model import LanguageModel


@dataclass(frozen=True)
class Regularizer:
    """What is minimized beside the loss of the masked words: `weight` · value(model, step).

    Fields
    ------
    value
        a scalar of the model and of the number of the step alone.
    weight
        its factor; a negative one maximizes the term.
    identity
        what tells this term from another one, so that a checkpoint of another is rejected.
    """

    value: Callable[[LanguageModel, int], Tensor]
    weight: float
    identity: str

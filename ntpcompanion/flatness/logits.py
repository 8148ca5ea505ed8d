"""What logits have to be for per-example gradients: a matrix, the same every time, each row of its
own input.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from ntpcompanion.flatness.hessian import FlatModule
from ntpcompanion.validation import check_callable, check_tensor, described

RANDOM_OR_MIXING = (_BatchNorm, _DropoutNd)


def check_logits(
    logits: Callable[[Tensor, Tensor], Tensor], theta: Float[Tensor, " d"], pair: Tensor
) -> None:
    """Raise ValueError unless `logits(theta, pair)` is (2, classes) with at least two classes, is
    the same when it is computed again, and has the row of the first input alone.

    Parameters
    ----------
    pair
        two inputs.

    Notes
    -----
    Three evaluations. A module in training mode with dropout or batch normalization is named before
    the first.
    """
    check_callable("logits", logits)
    if isinstance(logits, FlatModule):
        _refuse_training(logits.module)
    with torch.no_grad():
        first, second = _called(logits, theta, pair), logits(theta, pair)
        _check_matrix(first, len(pair))
        alone = logits(theta, pair[:1])
    if not _close(first, second):
        raise ValueError(
            "`logits` is not deterministic: it differs when it is computed again. Call "
            "`module.eval()`."
        )
    if not _close(first[:1], alone):
        raise ValueError(
            "`logits` of an input depends on the inputs beside it, and gradients of single "
            "examples are not defined. Call `module.eval()`, or compute each row from its input."
        )


def _called(logits: Callable[[Tensor, Tensor], Tensor], theta: Tensor, pair: Tensor) -> Tensor:
    try:
        return logits(theta, pair)
    except (RuntimeError, TypeError, IndexError) as error:
        raise ValueError(
            f"`logits(theta, inputs)` fails for {described(theta)} and {described(pair)}: {error}. "
            "Use `FlatModule` for a module, and inputs of its dtype."
        ) from error


def _refuse_training(module: nn.Module) -> None:
    for name, layer in module.named_modules():
        if isinstance(layer, RANDOM_OR_MIXING) and layer.training and getattr(layer, "p", 1) > 0:
            raise ValueError(
                f"`logits` is a module in training mode, with {type(layer).__name__} at {name!r}. "
                "Call `module.eval()` first."
            )


def _check_matrix(scores: Tensor, inputs: int) -> None:
    check_tensor("logits(theta, inputs)", scores)
    if scores.ndim != 2:
        raise ValueError(
            "`logits` must return a matrix (inputs, classes), got shape "
            f"{tuple(scores.shape)} for {inputs} inputs. Choose one position of a sequence."
        )
    if len(scores) != inputs:
        raise ValueError(
            f"`logits` must return a row for each of the {inputs} inputs, got {len(scores)}."
        )
    if scores.shape[1] < 2:
        raise ValueError(
            "`logits` must have at least 2 classes, got 1: its probability is 1 whatever the "
            "parameters are."
        )


def _close(first: Tensor, second: Tensor) -> bool:
    """Equal to half the digits: sums may be taken in another order."""
    tolerance = torch.finfo(first.dtype).eps ** 0.5
    largest = float(first.abs().nan_to_num(0.0, 0.0).max())
    return torch.allclose(first, second, rtol=tolerance, atol=tolerance * largest, equal_nan=True)

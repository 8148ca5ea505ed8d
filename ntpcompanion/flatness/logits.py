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
from ntpcompanion.validation import check_tensor, described, require

RANDOM_OR_MIXING = (_BatchNorm, _DropoutNd)


def check_logits(
    logits: Callable[[Tensor, Tensor], Tensor], theta: Float[Tensor, " d"], pair: Tensor
) -> None:
    """Raise ValueError unless `logits(theta, pair)`, of two inputs, is (2, classes) with at least
    two classes, is the same when it is computed again, and has the row of the first input alone.

    Three evaluations. A module in training mode with dropout or batch normalization is named before
    the first.
    """
    if isinstance(logits, FlatModule):
        _check_eval_mode(logits.module)
    with torch.no_grad():
        first, second = _called(logits, theta, pair), logits(theta, pair)
        _check_matrix(first, len(pair))
        alone = logits(theta, pair[:1])
    require(_close(first, second), "`logits` is not deterministic. Call `module.eval()`.")
    require(
        _close(first[:1], alone),
        "`logits` of an input depends on the inputs beside it. Call `module.eval()`.",
    )


def _called(logits: Callable[[Tensor, Tensor], Tensor], theta: Tensor, pair: Tensor) -> Tensor:
    try:
        return logits(theta, pair)
    except (RuntimeError, TypeError, IndexError) as error:
        got = f"{described(theta)} and {described(pair)}: {error}"
        raise ValueError(f"`logits(theta, inputs)` fails for {got}. Use `FlatModule`.") from error


def _check_eval_mode(module: nn.Module) -> None:
    for name, layer in module.named_modules():
        trains = isinstance(layer, RANDOM_OR_MIXING) and layer.training
        where = f"{type(layer).__name__} at {name!r}. Call `module.eval()` first."
        require(
            not trains or getattr(layer, "p", 1) == 0,
            f"`logits` is a module in training mode: {where}",
        )


def _check_matrix(scores: Tensor, inputs: int) -> None:
    check_tensor("logits(theta, inputs)", scores)
    shape = tuple(scores.shape)
    require(
        len(shape) == 2 and shape[0] == inputs and shape[1] > 1,
        f"`logits` must return a matrix ({inputs}, classes) with 2 classes or more, got {shape}.",
    )


def _close(first: Tensor, second: Tensor) -> bool:
    """Equal to half the digits: sums may be taken in another order."""
    tolerance = torch.finfo(first.dtype).eps ** 0.5
    largest = float(first.abs().nan_to_num(0.0, 0.0).max())
    return torch.allclose(first, second, rtol=tolerance, atol=tolerance * largest, equal_nan=True)

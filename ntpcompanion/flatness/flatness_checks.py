"""What the parameters of a model with known minimizers must be."""

import torch
from torch import Tensor

from ntpcompanion.flatness.hessian import check_vector


def check_float64(name: str, theta: Tensor) -> None:
    """Raise ValueError unless `theta` is a finite float64 vector on the CPU."""
    check_vector(name, theta)
    if theta.dtype != torch.float64 or theta.device.type != "cpu":
        got = f"{theta.dtype} on {theta.device}"
        raise ValueError(
            f"`{name}` must be float64 on the CPU, got {got}: ranks cannot be told in fewer "
            f"digits. Use `{name}.double()`."
        )

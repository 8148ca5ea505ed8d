"""In which coordinates a linear head is trained: the set of heads is the same in all of them, what
AdamW finds in its time is not.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.checks import checked

Scaling = Literal["none", "standardized", "whitened"]
# a feature that varies by less than this share of its mean is constant in float32
FEWER_DIGITS = 1e-6
# of a direction, as a share of the largest: what is below has few digits left in float32
MIN_VARIANCE = 1e-9


@checked
def scaled(
    fitted: Float[Tensor, "n dims"], others: Float[Tensor, "k dims"], scaling: Scaling
) -> tuple[Float[Tensor, "n kept"], Float[Tensor, "k kept"]]:
    """Features in the coordinates that `scaling` takes from `fitted`, those of both arguments.

    "none" leaves them as they are. "standardized" gives every feature mean 0 and variance 1 (those
    that are constant are only shifted). "whitened" also turns to the principal axes of the
    standardized features and gives every axis variance 1; axes with less than MIN_VARIANCE of the
    largest variance are left out. Raises ValueError for another scaling.

    Notes
    -----
    A head on whitened features is one on the features themselves, so the best one is no better
    (weight decay aside). But the steps of a gradient method are as slow as the ratio of the largest
    to the smallest variance is large, and for a trained network it can be 10⁸. Whitening takes O(n
    dims²) time and float64 copies of the features, 1024 at a time.
    """
    if scaling == "none":
        return fitted, others
    mean, scale = _mean_and_scale(fitted)
    if scaling == "standardized":
        return (fitted - mean) / scale, (others - mean) / scale
    mean, axes, retained = _principal_axes(fitted, mean.double(), scale.double())
    return _rotated(fitted, mean, axes[:, retained]), _rotated(others, mean, axes[:, retained])


def scaled_stack(
    fitted: Float[Tensor, "k n dims"], others: Float[Tensor, "k m dims"], scaling: Scaling
) -> tuple[Float[Tensor, "k n dims"], Float[Tensor, "k m dims"]]:
    """`scaled` for a stack of k sets, each in the coordinates that it takes from its own `fitted`.

    The shapes stay: what whitening leaves out becomes a column of zeros. Raises ValueError for
    another scaling.

    Notes
    -----
    A ridge on the weights in whitened coordinates is (ridge/2) Σ_c wᶜᵀ Σ wᶜ in the weights of the
    features themselves, Σ their covariance: it penalizes the variance of the logits. So the best
    head with a ridge is the same after every invertible linear map of the features, and a direction
    is not favored for having a large variance. Costs as `scaled`, one set after the other.
    """
    pairs = [
        _whitened(*both) if scaling == "whitened" else scaled(*both, scaling)
        for both in zip(fitted, others, strict=True)
    ]
    return torch.stack([pair[0] for pair in pairs]), torch.stack([pair[1] for pair in pairs])


def _whitened(fitted: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    mean, scale = _mean_and_scale(fitted)
    mean, axes, _ = _principal_axes(fitted, mean.double(), scale.double())
    return _rotated(fitted, mean, axes), _rotated(others, mean, axes)


def _mean_and_scale(fitted: Tensor) -> tuple[Tensor, Tensor]:
    std, mean = torch.std_mean(fitted, 0, correction=0)
    return mean, torch.where(std > FEWER_DIGITS * mean.abs(), std, 1.0)


def _principal_axes(rows: Tensor, mean: Tensor, scale: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The mean, the matrix (dims, dims) that takes what is left without it to uncorrelated numbers
    of variance 1, and which of its columns are kept; the others are zero.
    """
    mean = mean + sum(
        ((part.double() - mean).sum(0) for part in rows.split(1024)), torch.zeros_like(mean)
    ) / len(rows)
    moments = sum(
        ((part := (chunk.double() - mean) / scale).T @ part for chunk in rows.split(1024)),
        torch.zeros((), device=rows.device),
    )
    variances, directions = torch.linalg.eigh(moments / len(rows))
    retained = variances > MIN_VARIANCE * variances[-1]
    deviations = torch.where(retained, variances, torch.inf).sqrt()
    return mean, directions / scale[:, None] / deviations, retained


def _rotated(rows: Tensor, mean: Tensor, axes: Tensor) -> Tensor:
    return torch.cat([((part.double() - mean) @ axes).to(rows.dtype) for part in rows.split(1024)])

"""Are the features of two networks one and the same up to an affine map?"""

from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.checks import Finite, checked, need


@checked(
    need(
        "first",
        "len(first) > max(first.shape[1], second.shape[1])",
        "have more rows than there are columns",
    )
)
def canonical_correlations(
    first: Annotated[Float[Tensor, "n d"], Finite],
    second: Annotated[Float[Tensor, "n k"], Finite],
    *,
    tolerance: float = 1e-6,
) -> Float[Tensor, " pairs"]:
    """The canonical correlations (Hotelling 1936) of two sets of features of the same sentences,
    float64, largest first. Neither changes under an invertible affine map of either set.

    The mean of their squares is the fraction of the variance of the whitened features of one set
    that an affine map of the other explains; of n independent rows about d/n of it is chance.
    Directions whose standard deviation is below `tolerance` times the largest are left out, such as
    the constant one that a LayerNorm leaves. Raises ValueError for fewer rows than columns. Cost
    O(n (d² + k²)).
    """
    bases = [_orthonormal(x, tolerance) for x in (first, second)]
    return torch.linalg.svdvals(bases[0].T @ bases[1]).clamp_max(1.0)


@checked(
    need("first", "len(first) > first.shape[1]", "have more rows than there are columns"),
    need("second", "bool((second != second[0]).any())", "not be the same in all rows"),
)
def explained_variance(
    first: Annotated[Float[Tensor, "n d"], Finite], second: Annotated[Float[Tensor, "n k"], Finite]
) -> float:
    """R², the fraction of the variance of the second features that an affine map of the first
    explains; directions of large variance count most; of n independent rows about d/n is chance.
    Raises ValueError for other shapes, fewer rows than columns of the first, second features that
    are the same in all rows, or what is not finite.
    """
    basis, target = _orthonormal(first, 1e-6), second.double() - second.double().mean(0)
    return float((basis.T @ target).square().sum() / target.square().sum())


def _orthonormal(features: Tensor, tolerance: float) -> Float[Tensor, "n directions"]:
    centred = features.double() - features.double().mean(0)
    left, scale, _ = torch.linalg.svd(centred, full_matrices=False)
    return left[:, scale > tolerance * scale[0]]


@dataclass(frozen=True)
class LogitAgreement:
    """Variances of logits over v ∼ Pr(· | x), means over x, in nats²: `unexplained` is E Var(z −
    z′) of the logits z, z′ of two models, `total` is E Var(z − z̄) with z̄ the mean of z over x.
    """

    unexplained: float
    total: float

    @property
    def explained(self) -> float:
        """The fraction of the log-probabilities of the first that those of the second explain."""
        return 1 - self.unexplained / self.total

    def at_least(self, first_kl: float, second_kl: float) -> float:
        """`explained` as the two distances from Pr alone, at least 0, bound it, to second order in
        them.
        """
        return 1 - 2 * (first_kl**0.5 + second_kl**0.5) ** 2 / self.total


@checked(
    need("true", "len(true) > 1", "have at least two rows"),
    need("true", "bool((true.sum(1) - 1).abs().max() < 1e-4)", "have rows of sum one"),
)
def logit_agreement(
    true: Annotated[Float[Tensor, "n words"], Finite],
    first: Annotated[Float[Tensor, "n words"], Finite],
    second: Annotated[Float[Tensor, "n words"], Finite],
) -> LogitAgreement:
    """How much of the log-probabilities of the `first` model those of the `second` explain,
    weighted by the `true` Pr(· | x).

    For u = log Pr − log f, centred, KL(Pr ‖ f) = log E_Pr e^(−u) = ½ Var u + O(u³), hence √E Var(z
    − z′) ≤ √(2 KL) + √(2 KL′) to this order. Nothing of the kind holds without the weights Pr: a
    word of probability p can move by u at a cost of ½ p u² (Nielsen et al. 2025).
    """
    first, second, true = (x.double() for x in (first, second, true))
    return LogitAgreement(
        float(_variance(true, first - second).mean()),
        float(_variance(true, first - first.mean(0)).mean()),
    )


def _variance(weights: Tensor, values: Tensor) -> Float[Tensor, " n"]:
    mean = (weights * values).sum(1, keepdim=True)
    return (weights * (values - mean).square()).sum(1)

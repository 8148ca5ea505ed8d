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
    """The canonical correlations of two sets of features of the same sentences, largest first.

    The mean of their squares is the fraction of the variance of the whitened features of the one
    that an affine map of the other explains: 1 where each is an affine image of the other, and
    unchanged when either goes through an invertible affine map, as probes on whitened features are.

    Parameters
    ----------
    first, second
        a row for each sentence.
    tolerance
        directions whose standard deviation is below this fraction of the largest are left out: a
        LayerNorm leaves one that is constant.

    Returns
    -------
    Tensor
        float64, as many as the smaller number of directions.

    Raises
    ------
    ValueError
        not one row for each sentence, fewer rows than columns, what is not finite.

    Notes
    -----
    Of n independent rows about d/n of the mean square is chance. Hotelling 1936; used for networks
    by Raghu et al. 2017. Cost O(n (d² + k²)).

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.mlm.evaluation.feature_agreement import canonical_correlations
    >>> x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    >>> canonical_correlations(x, 2 - x @ torch.tensor([[1.0, 2, 0], [0, 1, 0], [5, 0, 3]]))
    tensor([1.0000, 1.0000, 1.0000], dtype=torch.float64)
    """
    bases = [_orthonormal(x, tolerance) for x in (first, second)]
    return torch.linalg.svdvals(bases[0].T @ bases[1]).clamp_max(1.0)


@checked
def explained_variance(
    first: Annotated[Float[Tensor, "n d"], Finite], second: Annotated[Float[Tensor, "n k"], Finite]
) -> float:
    """How much of the variance of the second features an affine map of the first explains: the
    coefficient of determination R², in which directions of large variance count most.

    Raises ValueError for what are not rows of the same sentences, or not finite.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.mlm.evaluation.feature_agreement import explained_variance
    >>> x = torch.tensor([[0.0], [1], [2], [3]])
    >>> round(explained_variance(x, torch.cat([2 * x, torch.tensor([[0.0], [1], [1], [0]])], 1)), 6)
    0.952381
    """
    basis, target = _orthonormal(first, 1e-6), second.double() - second.double().mean(0)
    return float((basis.T @ target).square().sum() / target.square().sum())


def _orthonormal(features: Tensor, tolerance: float) -> Float[Tensor, "n directions"]:
    centred = features.double() - features.double().mean(0)
    left, scale, _ = torch.linalg.svd(centred, full_matrices=False)
    return left[:, scale > tolerance * scale[0]]


@dataclass(frozen=True)
class LogitAgreement:
    """Variances of logits over v ∼ Pr(· | x), means over x: the weights that the loss has.

    Fields
    ------
    unexplained
        E Var(z − z′) of the logits z, z′ of two models.
    total
        E Var(z − z̄), with z̄ the mean of z over x.
    """

    unexplained: float
    total: float

    @property
    def explained(self) -> float:
        """The fraction of the log-probabilities of the first that those of the second explain."""
        return 1 - self.unexplained / self.total

    def at_least(self, first_kl: float, second_kl: float) -> float:
        """`explained` as the two distances from Pr alone bound it, to second order in them."""
        return 1 - 2 * (first_kl**0.5 + second_kl**0.5) ** 2 / self.total


@checked
def logit_agreement(
    true: Float[Tensor, "n words"],
    first: Annotated[Float[Tensor, "n words"], Finite],
    second: Annotated[Float[Tensor, "n words"], Finite],
) -> LogitAgreement:
    """How much of the log-probabilities of one model those of another explain.

    Parameters
    ----------
    true
        distributions Pr(· | x).
    first, second
        logits of two models, which are affine images of their features.

    Returns
    -------
    LogitAgreement
        in nats².

    Raises
    ------
    ValueError
        not the same shapes, logits that are not finite.

    Notes
    -----
    For u = log Pr − log f, centred, KL(Pr ‖ f) = log E_Pr e^(−u) = ½ Var u + O(u³), hence
    √E Var(z − z′) ≤ √(2 KL) + √(2 KL′) to this order. Nothing of the kind holds without the weights
    Pr: a word of probability p can move by u at a cost of ½ p u² (Nielsen et al. 2025).
    """
    first, second, true = (x.double() for x in (first, second, true))
    return LogitAgreement(
        float(_variance(true, first - second).mean()),
        float(_variance(true, first - first.mean(0)).mean()),
    )


def _variance(weights: Tensor, values: Tensor) -> Float[Tensor, " n"]:
    mean = (weights * values).sum(1, keepdim=True)
    return (weights * (values - mean).square()).sum(1)

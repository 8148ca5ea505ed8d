"""The head that is known in closed form, ridge regression on one-hot labels: its loss and its
accuracy on other examples.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.mlm.downstream import Accuracy, Examples, accuracy_of
from ntpcompanion.mlm.probe import token_features
from ntpcompanion.mlm.scaling import scaled
from ntpcompanion.networks.language_model import LanguageModel


def ridge_head(
    features: Float[Tensor, "n d"], targets: Float[Tensor, "n classes"], ridge: float
) -> Float[Tensor, "d classes"]:
    """The φ that minimizes ‖features φ − targets‖² + ridge ‖φ‖², without an intercept;
    differentiable in features and targets.

    (HᵀH + ρI)⁻¹ HᵀY = Hᵀ (HHᵀ + ρI)⁻¹ Y: the smaller of the two systems is solved, in O(n d min(n,
    d)) time. Source: Liu et al. 2020 (MeRLin), which Liu et al. 2023, appendix A.4, refers to.

    Raises ValueError for a ridge that is not positive, FloatingPointError if the system is singular
    in the precision of the features.
    """
    refuse_ridge(ridge)
    n, d = features.shape
    gram = features.T @ features if d <= n else features @ features.T
    factor, failed = torch.linalg.cholesky_ex(
        gram + ridge * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    )
    if failed:
        raise FloatingPointError(
            f"The head cannot be solved for in {gram.dtype}: `ridge` = {ridge} is too small, or "
            "features are not finite."
        )
    return (
        torch.cholesky_solve(features.T @ targets, factor)
        if d <= n
        else features.T @ torch.cholesky_solve(targets, factor)
    )


def validation_loss(
    model: LanguageModel,
    first: Examples,
    second: Examples,
    ridge: float,
    projection: Tensor | None = None,
) -> Float[Tensor, ""]:
    """Mean over `second` of ‖φᵀh(x) − onehot(y)‖², with φ the ridge head of `first`; with its
    gradient in the model.

    Inputs are tokens of equal length, features those of `linear_probe`: all positions without CLS,
    times the projection. Solved in float64. A head that predicts 0 has loss 1; it can be larger,
    without a bound, as φ overfits when `first` is few and `ridge` small.
    """
    features = token_features(model, torch.cat([first.inputs, second.inputs]))
    features = (features if projection is None else features @ projection).double()
    fitted, kept = features.split([len(first.labels), len(second.labels)])
    onehot = [F.one_hot(examples.labels, examples.classes).double() for examples in (first, second)]
    return (kept @ ridge_head(fitted, onehot[0], ridge) - onehot[1]).square().sum(1).mean()


def ridge_accuracy(train: Examples, test: Examples, ridge: float) -> Accuracy:
    """The share of `test` that the ridge head of `train` guesses right: what is linear in the
    features, however long training would take.

    The head is φ, b of least mean ‖φᵀh(x) + b − onehot(y)‖² + ridge ‖φ‖² on standardized features
    h; it guesses the largest entry. As the ridge goes to 0 the guesses no longer depend on the
    coordinates of the features, and there is no seed. For features in float32, whose smallest
    principal variances can be 10⁻⁸ of the largest, 10⁻⁹ is small. Solved in float64, in O(n d
    min(n, d)) time and with two copies of the features.

    Raises ValueError for a ridge that is not positive, or features with another number of columns.
    """
    refuse_ridge(ridge)
    if train.inputs.shape[1:] != test.inputs.shape[1:]:
        raise ValueError(
            f"`test` must have the {train.inputs.shape[1]} columns of `train`, got "
            f"{test.inputs.shape[1]}."
        )
    fitted, kept = scaled(train.inputs.double(), test.inputs.double(), "standardized")
    targets = F.one_hot(train.labels, train.classes).double()
    shares = targets.mean(0)
    guesses = kept @ ridge_head(fitted, targets - shares, ridge * len(fitted)) + shares
    return accuracy_of(guesses.argmax(1) == test.labels)


def refuse_ridge(ridge: float) -> None:
    """Raise ValueError unless the ridge is positive and finite."""
    if not (math.isfinite(ridge) and ridge > 0):
        raise ValueError(f"`ridge` must be positive and finite, got {ridge}.")

"""The head that is known in closed form, ridge regression on one-hot labels, and its loss on
other examples.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
from ntpcompanion.mlm.evaluation.features import token_features
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.validation import as_positive


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
    head, failed = solved_head(features, targets, ridge)
    if failed:
        raise FloatingPointError(
            f"The head cannot be solved for in {features.dtype}: `ridge` = {ridge} is too small, "
            "or features are not finite."
        )
    return head


def solved_head(
    features: Float[Tensor, "n d"], targets: Float[Tensor, "n classes"], ridge: float
) -> tuple[Float[Tensor, "d classes"], Tensor]:
    """The head of `ridge_head` and whether the system was singular, without a look at that: so it
    can be mapped over networks, and captured.
    """
    n, d = features.shape
    gram = features.T @ features if d <= n else features @ features.T
    shifted = gram + ridge * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    factor, failed = torch.linalg.cholesky_ex(shifted)
    right = features.T @ targets if d <= n else targets
    half = torch.linalg.solve_triangular(factor, right, upper=False)
    solved = torch.linalg.solve_triangular(factor.T, half, upper=True)
    return (solved if d <= n else features.T @ solved), failed


def validation_loss(
    model: LanguageModel,
    first: LabelledExamples,
    second: LabelledExamples,
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


def refuse_ridge(ridge: float) -> None:
    """Raise ValueError unless the ridge is positive and finite."""
    as_positive("ridge", ridge)

"""The manifold of minimizers Γ = {f_θ = Pr}: its tangent space, the rank of assumption 4.1, and the
way back to it.
"""

import warnings
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.checks import Is, Positive, checked
from ntpcompanion.flatness.hessian import ExactTheta
from ntpcompanion.flatness.model import ConditionalModel

# Singular values of the scores below this share of the largest count as zero; they are square roots
# of eigenvalues of the Hessian, and rounding leaves some 1e-15 of an exact zero.
RANK_TOLERANCE = 1e-8

# |f − Pr| at which a point counts as a minimizer.
ON_MANIFOLD = 1e-6

CORRECTIONS, HALVINGS = 100, 40


@dataclass(frozen=True, eq=False)
class TangentSpace:
    """The tangent space of Γ at a point: the kernel of the Hessian.

    Fields
    ------
    basis
        (d, d − M), orthonormal columns.
    normal
        (d, M), orthonormal columns: the eigenvectors of the Hessian that are not in its kernel.
    eigenvalues
        (M,), those of the Hessian that are not zero, falling.
    rank
        of the Hessian, M.
    gap
        the smallest singular value of the scores that counts over the largest that does not,
        infinite if there is none: near 1, the rank is in doubt.
    gradient_norm
        ‖∇L‖ at the point, zero at a minimizer.
    """

    basis: Float[Tensor, "d free"]
    normal: Float[Tensor, "d M"]
    eigenvalues: Float[Tensor, " M"]
    rank: int
    gap: float
    gradient_norm: float


@checked
def tangent_basis(model: ConditionalModel, theta: ExactTheta) -> TangentSpace:
    """The tangent space of the manifold of minimizers at θ, from the singular values of the scores,
    with its numerical rank.

    Assumption 4.1 asks that the Hessian has one rank all along Γ; compare `rank` at two points.

    Parameters
    ----------
    model
        the predictor and the true distributions.
    theta
        (d,), float64.

    Returns
    -------
    TangentSpace
        orthonormal bases of the tangent and of the normal space, the Hessian's eigenvalues, and its
        rank.

    Raises
    ------
    ValueError
        θ is not a finite float64 vector.

    Warns
    -----
    UserWarning
        θ is not a minimizer: an entry of f − Pr exceeds 1e-6. The scores are then no square root of
        the Hessian.

    Examples
    --------
    A model with one input, two classes and the logits ±ab: minimizers are a hyperbola.

    >>> import torch
    >>> from ntpcompanion.flatness import ConditionalModel, nearest_minimizer, tangent_basis
    >>> def logits(theta):
    ...     product = theta.prod(-1)[..., None]
    ...     return torch.stack([product, -product], dim=-1)
    >>> truth = torch.tensor([[0.8, 0.2]], dtype=torch.float64)
    >>> model = ConditionalModel(logits, truth, torch.ones(1, dtype=torch.float64))
    >>> near = torch.tensor([2.0, 0.5], dtype=torch.float64)
    >>> minimizer = nearest_minimizer(model, near)
    >>> space = tangent_basis(model, minimizer)
    >>> space.rank, tuple(space.basis.shape)
    (1, (2, 1))
    >>> slope = torch.tensor([minimizer[1], minimizer[0]])  # of ab: normal to the hyperbola
    >>> bool((space.basis.T @ slope).abs() < 1e-9)
    True
    """
    scores = model.scores(theta)
    gradient_norm = float((model.joint.flatten().sqrt() @ scores).norm())
    if (away := float(model.residual(theta))) > ON_MANIFOLD:
        text = (
            f"`theta` is not a minimizer: |f − Pr| is up to {away:.3g}, the norm of the gradient "
            f"of the loss is {gradient_norm:.3g}."
        )
        warnings.warn(text, stacklevel=2)
    _, singular, rows = torch.linalg.svd(scores, full_matrices=True)
    rank = numerical_rank(singular)
    gap = (
        float(singular[rank - 1] / singular[rank])
        if 0 < rank < len(singular) and singular[rank] > 0
        else torch.inf
    )
    return TangentSpace(
        rows[rank:].T, rows[:rank].T, singular[:rank] ** 2, rank, gap, gradient_norm
    )


def numerical_rank(singular: Float[Tensor, " k"]) -> int:
    """How many of falling singular values exceed RANK_TOLERANCE times the first."""
    return int((singular > RANK_TOLERANCE * singular[0]).sum())


FullSupport = Annotated[
    ConditionalModel,
    Is(
        lambda model: (model.distributions > 0).all(),
        "have a minimizer: `distributions` may hold no zero, which no finite logits give",
    ),
]


@checked
def nearest_minimizer(
    model: FullSupport, theta: ExactTheta, tol: Positive = 1e-13
) -> Float[Tensor, " d"]:
    """A point of Γ near θ, by Gauss–Newton steps of least length on log f = log Pr, halved while
    the excess loss does not fall.

    Ends when no entry of f − Pr exceeds `tol`, or when rounding stops it below 1e-6.

    Parameters
    ----------
    model
        the predictor and the true distributions.
    theta
        (d,), float64.
    tol
        the largest entry of f − Pr that is left.

    Returns
    -------
    (d,) tensor
        the minimizer.

    Raises
    ------
    ValueError
        a distribution with a zero: no finite logits give it, so that there is no minimizer
        (assumption 4.1 fails); θ is not a finite float64 vector.
    RuntimeError
        no minimizer was reached.

    Examples
    --------
    A model with one input, two classes and the logits ±ab: minimizers are a hyperbola.

    >>> import torch
    >>> from ntpcompanion.flatness import ConditionalModel, nearest_minimizer
    >>> def logits(theta):
    ...     product = theta.prod(-1)[..., None]
    ...     return torch.stack([product, -product], dim=-1)
    >>> truth = torch.tensor([[0.8, 0.2]], dtype=torch.float64)
    >>> model = ConditionalModel(logits, truth, torch.ones(1, dtype=torch.float64))
    >>> near = torch.tensor([2.0, 0.5], dtype=torch.float64)
    >>> minimizer = nearest_minimizer(model, near)
    >>> round(float(minimizer.prod()), 6)  # e^{2ab} = 0.8 / 0.2
    0.693147
    """
    best = float(model.excess(theta))
    for _ in range(CORRECTIONS):
        if float(model.residual(theta)) <= tol or (closer := _step(model, theta, best)) is None:
            break
        theta, best = closer
    if not float(model.residual(theta)) <= ON_MANIFOLD:
        away = float(model.residual(theta))
        raise RuntimeError(
            f"no minimizer was reached: |f − Pr| is still {away:.3g}. Can the model express the "
            "distributions? Start nearer to them."
        )
    return theta


def _step(model: ConditionalModel, theta: Tensor, excess: float) -> tuple[Tensor, float] | None:
    """One correction, and the excess loss after it; None if no step makes it smaller."""
    scores = model.scores(theta)
    residual = model.joint.sqrt() * (model.log_probabilities(theta) - model.distributions.log())
    direction = torch.linalg.pinv(scores, rtol=RANK_TOLERANCE) @ residual.flatten()
    for halving in range(HALVINGS):
        candidate = theta - 0.5**halving * direction
        if (reached := float(model.excess(candidate))) < excess:
            return candidate, reached
    return None

"""How far the trace of the Fisher information is from that of the Hessian above the floor of the
loss, by enumeration.
"""

from dataclasses import dataclass

from torch.func import jacrev

from ntpcompanion.checks import checked
from ntpcompanion.flatness.hessian import ExactTheta
from ntpcompanion.flatness.model import ConditionalModel

# Rows of second derivatives that are formed together: all at once take n c d passes, and gigabytes
# for a network of 259 parameters.
ROWS_AT_ONCE = 128


@dataclass(frozen=True)
class FisherBias:
    """The two traces at one point.

    Fields
    ------
    excess
        the loss above its floor in nats, E_x KL(Pr ‖ f_θ).
    fisher
        E_x Σ_v f_v ‖∇ log f_v‖², what appendix B.1 of Liu et al. (2023) estimates.
    bias
        tr ∇²L − `fisher`, from its own formula E_x Σ_v (f_v − Pr_v) Δ log f_v: small values keep
        their digits.
    bound
        √(2 · `excess`) · max ‖Δ log f_v‖, which the bias does not exceed.
    """

    excess: float
    fisher: float
    bias: float
    bound: float


@checked
def fisher_bias(model: ConditionalModel, theta: ExactTheta) -> FisherBias:
    """The bias of the Fisher trace as an estimate of tr ∇²L(θ), exactly, and its bound by Pinsker's
    inequality.

    Raises ValueError unless θ is a finite float64 vector. All second derivatives are formed: O(n c
    d²) memory.

    Parameters
    ----------
    model
        the predictor and the true distributions.
    theta
        (d,), float64.

    Returns
    -------
    FisherBias
        excess loss, Fisher trace, its bias, and the bound on the bias.

    Examples
    --------
    A model with one input, two classes and the logits ±ab: minimizers are a hyperbola.

    >>> import torch
    >>> from ntpcompanion.flatness import ConditionalModel, fisher_bias, nearest_minimizer
    >>> def logits(theta):
    ...     product = theta.prod(-1)[..., None]
    ...     return torch.stack([product, -product], dim=-1)
    >>> truth = torch.tensor([[0.8, 0.2]], dtype=torch.float64)
    >>> model = ConditionalModel(logits, truth, torch.ones(1, dtype=torch.float64))
    >>> near = torch.tensor([2.0, 0.5], dtype=torch.float64)
    >>> minimizer = nearest_minimizer(model, near)
    >>> at, off = fisher_bias(model, minimizer), fisher_bias(model, near)
    >>> abs(at.bias) < 1e-9, abs(off.bias) <= off.bound
    (True, True)
    """
    probabilities = model.log_probabilities(theta).exp()
    slope = jacrev(model.log_probabilities)
    slopes = slope(theta)
    laplacians = jacrev(slope, chunk_size=ROWS_AT_ONCE)(theta).diagonal(dim1=-2, dim2=-1).sum(-1)
    weight, excess = model.weight[:, None], model.excess(theta)
    fisher = (weight * probabilities * slopes.square().sum(-1)).sum()
    bias = (weight * (probabilities - model.distributions) * laplacians).sum()
    bound = (2 * excess).sqrt() * laplacians.abs().max()
    return FisherBias(float(excess), float(fisher), float(bias), float(bound))

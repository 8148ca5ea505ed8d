"""A predictor over finitely many inputs whose true conditional distributions are known: what SGD,
its limit and Lemma 4.2 are stated for.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import jacrev

from ntpcompanion.checks import checked
from ntpcompanion.flatness.hessian import ExactTheta
from ntpcompanion.validation import as_shaped, check_callable, check_probabilities, require


@dataclass(frozen=True, eq=False)
class ConditionalModel:
    """n inputs x with frequencies, their true distributions Pr(· | x) over c classes, and logits of
    a model f_θ (Liu et al. 2023, section 3.1).

    Fields
    ------
    logits
        maps parameters (…, d) to logits (…, n, c) of all inputs: leading axes are replicas, none of
        which may touch another.
    distributions
        Pr, (n, c), rows with sum one to within 1e-8; a float64 copy on the CPU is kept.
    weight
        (n,), positive frequencies of the inputs with sum one to within 1e-8, likewise.

    Raises
    ------
    ValueError
        what is not a function, distributions or weights of another shape, negative, not finite, or
        with another sum.

    Examples
    --------
    A model with one input, two classes and the logits ±ab: minimizers are a hyperbola.

    >>> import torch
    >>> from ntpcompanion.flatness import ConditionalModel
    >>> def logits(theta):
    ...     product = theta.prod(-1)[..., None]
    ...     return torch.stack([product, -product], dim=-1)
    >>> truth = torch.tensor([[0.8, 0.2]], dtype=torch.float64)
    >>> model = ConditionalModel(logits, truth, torch.ones(1, dtype=torch.float64))
    >>> near = torch.tensor([2.0, 0.5], dtype=torch.float64)
    >>> model.log_probabilities(near).exp().round(decimals=4).tolist()
    [[0.8808, 0.1192]]
    """

    logits: Callable[[Tensor], Tensor]
    distributions: Float[Tensor, "n c"]
    weight: Float[Tensor, " n"]

    def __post_init__(self) -> None:
        check_callable("logits", self.logits)
        for name, shape in (("distributions", (None, None)), ("weight", (None,))):
            entries = as_shaped(name, getattr(self, name), shape)
            check_probabilities(name, entries, entries.sum(-1))
            object.__setattr__(self, name, torch.tensor(entries))
        rows, low = f"{len(self.weight)} for {len(self.distributions)}", self.weight.min()
        require(
            len(self.distributions) == len(self.weight) and low > 0,
            f"`weight` must be positive, one for each distribution, got {rows} from {low:.6g}.",
        )

    @property
    def joint(self) -> Float[Tensor, "n c"]:
        """Pr(x, v), (n, c)."""
        return self.weight[:, None] * self.distributions

    def log_probabilities(
        self, theta: Float[Tensor, "*replicas d"]
    ) -> Float[Tensor, "*replicas n c"]:
        """The logarithm of f_θ(v | x). Raises ValueError if `logits` has another shape than the
        distributions.
        """
        logits = self.logits(theta)
        wanted, got = tuple(theta.shape[:-1] + self.distributions.shape), tuple(logits.shape)
        require(got == wanted, f"`logits` must be of shape {wanted} at `theta`, got {got}.")
        return logits.log_softmax(-1)

    def loss(self, theta: Float[Tensor, "*replicas d"]) -> Float[Tensor, "*replicas"]:
        """L(θ) = −E log f_θ(v | x), the population cross-entropy in nats."""
        log_p = self.log_probabilities(theta)
        return -torch.where(self.joint > 0, self.joint * log_p, 0.0).sum((-2, -1))

    def excess(self, theta: Float[Tensor, "*replicas d"]) -> Float[Tensor, "*replicas"]:
        """L(θ) minus its floor: E_x KL(Pr ‖ f_θ) in nats, a sum of terms that are not negative:
        small values keep their digits.
        """
        log_ratio = (
            self.log_probabilities(theta)
            - self.distributions.clamp_min(torch.finfo(torch.float64).tiny).log()
        )
        terms = torch.where(
            self.distributions > 0,
            self.distributions * (torch.expm1(log_ratio) - log_ratio),
            self.distributions * 0,
        )
        outside = torch.where(self.distributions > 0, 0.0, self.log_probabilities(theta).exp())
        return (self.weight[:, None] * (terms + outside)).sum((-2, -1))

    def residual(self, theta: Float[Tensor, "*replicas d"]) -> Float[Tensor, "*replicas"]:
        """The largest entry without sign of f_θ − Pr: zero exactly on the manifold of
        minimizers.
        """
        return (self.log_probabilities(theta).exp() - self.distributions).abs().amax((-2, -1))

    def scores(self, theta: Float[Tensor, " d"]) -> Float[Tensor, "rows d"]:
        """A row √Pr(x, v) ∇_θ log f_θ(v | x) for each of the n c pairs.

        AᵀA of this matrix A is the second moment of the gradient of one draw; at a minimizer it is
        its covariance, and the Hessian (Lemma
        4.2). ‖A‖² is a function of θ that agrees with tr ∇²L on the manifold of minimizers, so that
        their gradients agree along it.
        """
        slopes = jacrev(self.log_probabilities)(theta).flatten(0, 1)
        return self.joint.flatten().sqrt()[:, None] * slopes


@checked
def gradient_covariance(model: ConditionalModel, theta: ExactTheta) -> Float[Tensor, "d d"]:
    """Σ(θ), the covariance of −∇_θ log f_θ(v | x) over one draw (x, v), by enumeration; a batch of
    B independent draws has Σ / B.

    Parameters
    ----------
    model
        the predictor and the true distributions.
    theta
        (d,), float64.

    Returns
    -------
    (d, d) tensor
        Σ(θ).

    Raises
    ------
    ValueError
        θ is not a finite float64 vector.

    Examples
    --------
    A model with one input, two classes and the logits ±ab: minimizers are a hyperbola.

    >>> import torch
    >>> from ntpcompanion.flatness import ConditionalModel, full_hessian, gradient_covariance
    >>> from ntpcompanion.flatness import nearest_minimizer
    >>> def logits(theta):
    ...     product = theta.prod(-1)[..., None]
    ...     return torch.stack([product, -product], dim=-1)
    >>> truth = torch.tensor([[0.8, 0.2]], dtype=torch.float64)
    >>> model = ConditionalModel(logits, truth, torch.ones(1, dtype=torch.float64))
    >>> near = torch.tensor([2.0, 0.5], dtype=torch.float64)
    >>> minimizer = nearest_minimizer(model, near)
    >>> noise = gradient_covariance(model, minimizer)
    >>> def loss(theta):
    ...     return -(model.joint * model.log_probabilities(theta)).sum()
    >>> torch.allclose(noise, full_hessian(loss, minimizer))  # Lemma 4.2: at a minimizer
    True
    """
    scores = model.scores(theta)
    mean = model.joint.flatten().sqrt() @ scores
    return scores.T @ scores - torch.outer(mean, mean)

"""Models small enough that everything about them can be enumerated, from a closed form to a
network; each with a point to start from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.checks import Is, Positive, Probability, Range, Size, checked, need
from ntpcompanion.flatness.manifold import nearest_minimizer
from ntpcompanion.flatness.model import ConditionalModel
from ntpcompanion.validation import as_shaped, check_probabilities


@dataclass(frozen=True, eq=False)
class ToyModel:
    """A model, and parameters `start` (d,) to begin at: a minimizer wherever there is one."""

    model: ConditionalModel
    start: Float[Tensor, " d"]


NotZero = Annotated[float, Is(lambda number: number != 0, "not be zero")]


@checked
def bernoulli(probability: Probability, a: NotZero) -> ToyModel:
    """One Bernoulli(p) with logit a·b, θ = (a, b), from the given a and b = logit(p) / a.

    Everything is known: tr ∇²L = p(1−p)(a² + b²) on Γ = {ab = logit p}, and a² − b² = D decays
    along the limiting flow with batch size B like D(t) = D(0) e^{−p(1−p)t/B}.

    Parameters
    ----------
    probability
        p, between 0 and 1.
    a
        the first parameter, not 0.

    Returns
    -------
    ToyModel
        the model, and the point of Γ with this a.

    Raises
    ------
    ValueError
        p outside of (0, 1), or a = 0.

    Examples
    --------
    >>> from ntpcompanion.flatness import bernoulli
    >>> bernoulli(0.5, 2.0).start.tolist()
    [2.0, 0.0]
    """
    distribution = torch.tensor([[1 - probability, probability]], dtype=torch.float64)

    def logits(theta: Tensor) -> Tensor:
        z = theta[..., :1] * theta[..., 1:]
        return torch.cat([torch.zeros_like(z), z], -1)[..., None, :]

    start = torch.tensor([a, np.log(probability / (1 - probability)) / a], dtype=torch.float64)
    return ToyModel(
        ConditionalModel(logits, distribution, torch.ones(1, dtype=torch.float64)), start
    )


def imbalance(thetas: Float[Tensor, "*any 2"]) -> Float[Tensor, "*any"]:
    """D = a² − b² of the Bernoulli model: what its flow lets decay.

    Parameters
    ----------
    thetas
        (..., 2), points (a, b).

    Returns
    -------
    Tensor
        (...), D of each.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.flatness import imbalance
    >>> imbalance(torch.tensor([[2.0, 1.0]])).tolist()
    [3.0]
    """
    a, b = thetas.unbind(-1)
    return a**2 - b**2


@checked(need("a", "len(a) == len(distribution)", "be as long as the distribution"))
def softmax_product(distribution: Sequence[Positive], a: Sequence[NotZero]) -> ToyModel:
    """One distribution over c classes with logits a⊙b, θ = (a, b), from the given a and b = (log
    Pr) / a.

    The trace of ∇²L is Σ_v p_v(1−p_v)(a_v² + b_v²) on Γ = {a⊙b = log Pr + const}, of dimension c +
    1.

    Raises ValueError unless the distribution is positive with sum one, and a finite, without zeros
    and as long.
    """
    entries = as_shaped("distribution", distribution, (None,))
    check_probabilities("distribution", entries, entries.sum())
    probabilities = torch.tensor(entries)[None]
    factors = torch.tensor(as_shaped("a", a, probabilities.shape[1:]))

    def logits(theta: Tensor) -> Tensor:
        left, right = theta.chunk(2, -1)
        return (left * right)[..., None, :]

    model = ConditionalModel(logits, probabilities, torch.ones(1, dtype=torch.float64))
    return ToyModel(model, torch.cat([factors, probabilities[0].log() / factors]))


@checked(
    need(
        "probability",
        "len({*probability.shape}) == 1",
        "have an axis for each word of a sentence, of the length of the vocabulary",
    )
)
def masked_network(
    rng: np.random.Generator, probability: Float[Tensor, "*words"], *, width: Size = 16
) -> ToyModel:
    """A network tanh(X W₁ᵀ + b₁) W₂ᵀ + b₂ that has the masked conditionals of `sentence_table`
    exactly, for one-hot sentences with one word masked: the minimizer that Gauss–Newton reaches
    from random parameters. Raises ValueError for a width below 1 or no positive probabilities of
    sum 1, RuntimeError for no minimizer: make `width` larger.
    """
    entries = probability.detach().double().numpy()
    check_probabilities("probability", entries.ravel(), entries.sum())
    inputs, distributions, weight = _masked_conditionals(entries)
    vocab, length = probability.shape[0], probability.ndim
    size = inputs.shape[1]
    sizes = [width * size, width, vocab * width, vocab]

    def logits(theta: Tensor) -> Tensor:
        first, offset, last, bias = theta.split(sizes, -1)
        lead = theta.shape[:-1]
        hidden = torch.tanh(inputs @ first.reshape(*lead, width, size).mT + offset[..., None, :])
        return hidden @ last.reshape(*lead, vocab, width).mT + bias[..., None, :]

    model = ConditionalModel(logits, distributions, weight)
    scales = np.repeat([length**-0.5, 0.0, width**-0.5, 0.0], sizes)
    return ToyModel(
        model, nearest_minimizer(model, torch.tensor(scales * rng.standard_normal(sum(sizes))))
    )


@checked
def linear_product(
    rng: np.random.Generator, *, contexts: Size = 5, vocab: Size = 4, dim: Size = 3
) -> ToyModel:
    """Next-token prediction with logits E Wᵀ over random contexts E (m, d), W = U Vᵀ of full width,
    θ = (U, V).

    The distributions are those of the start: they have full support, and the start is a minimizer.
    Raises ValueError for a size below 1.
    """
    embeddings = torch.tensor(rng.standard_normal((contexts, dim)))
    logits, start = _factorized(rng, embeddings, vocab)
    return ToyModel(ConditionalModel(logits, logits(start).softmax(-1), _uniform(contexts)), start)


@checked
def sparse_linear(
    rng: np.random.Generator,
    *,
    contexts: Size = 5,
    vocab: Size = 4,
    dim: Size = 6,
    support_size: Annotated[int, Range(1, "vocab - 1", "(`vocab` − 1)")] = 2,
) -> ToyModel:
    """`linear_product` with distributions uniform on random supports: no finite θ gives a zero, so
    that there is no minimizer and no manifold.

    The start is random. Assumption 4.1 fails: along a path that lowers the loss the parameters grow
    for ever, and the eigenvalues that belong to tokens off the support tend to zero with the excess
    loss. Raises ValueError unless 0 < `support_size` < `vocab`, and for a size below 1.
    """
    embeddings = torch.tensor(rng.standard_normal((contexts, dim)))
    logits, start = _factorized(rng, embeddings, vocab)
    distributions = np.zeros((contexts, vocab))
    for row in distributions:
        row[rng.choice(vocab, support_size, replace=False)] = 1 / support_size
    return ToyModel(
        ConditionalModel(logits, torch.tensor(distributions), _uniform(contexts)), start
    )


def _factorized(
    rng: np.random.Generator, embeddings: Tensor, vocab: int
) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """The logits E V Uᵀ as a function of θ = (U, V), and a random θ."""
    dim = embeddings.shape[1]
    rank = min(vocab, dim)
    sizes = [vocab * rank, dim * rank]

    def logits(theta: Tensor) -> Tensor:
        left, right = theta.split(sizes, -1)
        lead = theta.shape[:-1]
        return embeddings @ right.reshape(*lead, dim, rank) @ left.reshape(*lead, vocab, rank).mT

    return logits, torch.tensor(rng.standard_normal(sum(sizes)))


def _uniform(rows: int) -> Tensor:
    return torch.full((rows,), 1 / rows, dtype=torch.float64)


def _masked_conditionals(probability: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
    """One-hot inputs with one mask, the distribution of the masked word, and the probability of the
    input, for all of them.
    """
    vocab, length = probability.shape[0], probability.ndim
    one_hot = np.eye(vocab + 1)  # the last is the mask
    inputs, masses = [], []
    for position in range(length):
        for rest in product(range(vocab), repeat=length - 1):
            masked = (*rest[:position], vocab, *rest[position:])
            inputs.append(one_hot[list(masked)].ravel())
            index: tuple[int | slice, ...] = (*rest[:position], slice(None), *rest[position:])
            masses.append(probability[index] / length)
    mass = np.array(masses)
    weight = mass.sum(1)
    return (
        torch.tensor(np.array(inputs)),
        torch.tensor(mass / weight[:, None]),
        torch.tensor(weight),
    )

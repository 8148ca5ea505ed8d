"""The trace of a Hessian: exactly, by random probes, and by labels that the model draws for itself
(Liu et al. 2023, appendix B.1).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.func import vjp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import one_hot

from ntpcompanion.checks import Is, Range, Size, checked
from ntpcompanion.flatness.hessian import (
    BATCH_ENTRIES,
    FlatModule,
    Loss,
    Theta,
    check_loss,
    symmetric_products,
)
from ntpcompanion.flatness.layers import Weigh, has_layer_rules, squared_norms
from ntpcompanion.flatness.logits import check_logits
from ntpcompanion.validation import require

# Inputs that go through a model at once on a CPU: with more, temporaries are so large that each is
# fetched from the system anew.
CACHED_INPUTS = 128


Logits = Callable[[Tensor, Tensor], Tensor]


def norms_by_vmap(
    logits: Logits, theta: Float[Tensor, " d"], inputs: Tensor, weigh: Weigh
) -> Float[Tensor, " n"]:
    """What `squared_norms` computes, for any function `logits` that `torch.func.vmap` can take; all
    gradients are formed. Raises ValueError unless `logits` returns a row for each input.
    """
    with torch.no_grad():
        scores = logits(theta, inputs)
    got = f"{len(scores)} for {len(inputs)}"
    require(len(scores) == len(inputs), f"`logits` must return a row for each input, got {got}.")
    labels, weights = weigh(scores.log_softmax(-1))

    def norms(example: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
        log_probabilities, pull = vjp(lambda t: logits(t, example[None])[0].log_softmax(0), theta)
        chosen = one_hot(labels, len(log_probabilities)).to(log_probabilities)
        return weights @ vmap(lambda row: pull(row)[0].square().sum())(chosen)

    with sdpa_kernel(SDPBackend.MATH):  # fused attention takes one example at a time under vmap
        return vmap(norms)(inputs, labels, weights)


@dataclass(frozen=True)
class TraceEstimate:
    """An estimate of a trace.

    Fields
    ------
    value
        the estimate.
    stderr
        its standard error; 0 if the value is exact.
    samples
        how many independent draws the standard error rests on: probes, or inputs; 0 if the value is
        exact.
    """

    value: float
    stderr: float
    samples: int


@checked
def exact_trace(loss: Loss, theta: Theta) -> TraceEstimate:
    """The trace of ∇²L(θ), from d Hessian-vector products. Raises ValueError for what `check_loss`
    rejects.

    Parameters
    ----------
    loss
        maps θ to a scalar tensor, the same one every time.
    theta
        (d,), float64 or float32, on any device.

    Returns
    -------
    TraceEstimate
        the trace; its standard error is 0.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.flatness import exact_trace
    >>> def loss(theta):
    ...     return theta[0] ** 2 + 3 * theta[0] * theta[1] + 2 * theta[1] ** 2
    >>> theta = torch.tensor([1.0, 2.0], dtype=torch.float64)
    >>> exact_trace(loss, theta)
    TraceEstimate(value=6.0, stderr=0.0, samples=0)
    """
    check_loss(loss, theta)
    products = symmetric_products(loss, theta)
    # the diagonal alone is kept: a d × d matrix would not fit for a network
    total = sum(float((products(rows) * rows).sum()) for rows in _unit_vectors(theta))
    return TraceEstimate(total, 0.0, 0)


@checked
def hutchinson_trace(
    loss: Loss,
    theta: Theta,
    *,
    probes: Annotated[int, Range(2, reason="for a standard error")],
    generator: torch.Generator,
) -> TraceEstimate:
    """The trace E zᵀ∇²L(θ)z of ∇²L(θ) over random signs z: the mean of `probes` draws (Hutchinson
    1989).

    Unbiased for every loss and at every θ. The variance of one probe is 2 Σ_{i≠j} H_ij²: a diagonal
    Hessian is met exactly. A CPU generator gives the same probes on every device.

    Parameters
    ----------
    loss
        maps θ to a scalar tensor, the same one every time.
    theta
        (d,), float64 or float32, on any device.
    probes
        how many vectors of random signs, at least 2.
    generator
        draws them.

    Returns
    -------
    TraceEstimate
        the mean, and its standard error.

    Raises
    ------
    ValueError
        fewer than 2 probes; what `check_loss` rejects.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.flatness import hutchinson_trace
    >>> def loss(theta):
    ...     return theta[0] ** 2 + 3 * theta[0] * theta[1] + 2 * theta[1] ** 2
    >>> theta = torch.tensor([1.0, 2.0], dtype=torch.float64)
    >>> generator = torch.Generator().manual_seed(0)
    >>> found = hutchinson_trace(loss, theta, probes=1000, generator=generator)
    >>> abs(found.value - 6) < 4 * found.stderr < 1  # one probe: variance 2 (3² + 3²) = 36
    True
    """
    check_loss(loss, theta)
    products = symmetric_products(loss, theta)
    forms = []
    for rows in _rows_at_once(probes, len(theta)):
        bits = torch.randint(2, (rows, len(theta)), generator=generator, device=generator.device)
        signs = (2 * bits - 1).to(theta)
        forms.append((products(signs) * signs).sum(1))
    return _mean(torch.cat(forms))


Inputs = Annotated[
    Tensor, Is(lambda inputs: inputs.ndim and len(inputs) > 1, "hold at least 2 inputs")
]


@checked
def fisher_trace(
    logits: Logits,
    theta: Theta,
    inputs: Inputs,
    *,
    labels_per_input: Size,
    generator: torch.Generator,
    chunk_size: Size | None = None,
) -> TraceEstimate:
    """The trace of the Fisher information, E_x E_{v∼f_θ(x)} ‖∇_θ log f_θ(v | x)‖², with labels that
    the model draws (appendix B.1).

    Parameters
    ----------
    logits
        `logits(theta, inputs)` is (n, classes), row i a function of input i alone, the same every
        time: a module in evaluation mode. For logits (n, T, V) of a language model choose a
        position: `lambda theta, x: flat(theta, x)[:, -1]`. A `FlatModule` whose parameters all
        belong to `nn.Linear`, `nn.Embedding` and `nn.LayerNorm` layers is measured layer by layer,
        without forming gradients; anything else through `torch.func.vmap`.
    theta
        (d,), the parameters.
    inputs
        (n, …), independent draws, n ≥ 2.
    labels_per_input
        k labels are drawn for every input.
    generator
        draws the labels.
    chunk_size
        so many of the n k gradients are in memory at once, at least those of one input; None: those
        of 128 inputs on a CPU, whose caches hold no more, else all.

    Returns
    -------
    TraceEstimate
        The mean over inputs of the mean over an input's labels. Its standard error treats the
        inputs as the sample: labels within an input are averaged first, so that more labels never
        pretend to be more data.

    Raises
    ------
    ValueError
        fewer than 2 inputs, fewer than 1 label or gradient at once, what is not a generator, logits
        that are not (n, classes) or not finite, of a single class (no curvature), random (dropout)
        or different beside another input (batch normalization in training mode).

    Notes
    -----
    Unbiased for the Fisher trace at every θ. For tr ∇²L it is unbiased only where f_θ = Pr.
    Elsewhere

        tr ∇²L − tr Fisher = E_x Σ_v (f_v − Pr_v) Δ_θ log f_v,

    with Δ_θ the trace of second derivatives. Since ‖f − Pr‖₁ ≤ √(2 KL(Pr ‖ f)) (Pinsker) and E_x
    √KL ≤ √(E_x KL), the bias is at most √(2 KL) · max ‖Δ_θ log f_v‖, with KL the excess of the loss
    over its floor: of the order of its square root, not of itself.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.flatness import FlatModule, fisher_trace
    >>> model = FlatModule(torch.nn.Linear(2, 2).double())
    >>> zeros = torch.zeros(6, dtype=torch.float64)  # uniform over two classes
    >>> inputs = torch.eye(2, dtype=torch.float64)
    >>> generator = torch.Generator().manual_seed(0)
    >>> found = fisher_trace(model, zeros, inputs, labels_per_input=10, generator=generator)
    >>> round(found.value, 6)  # (|x|² + 1) · |e_v − f|² = 2 · ½, whatever label v is drawn
    1.0
    """
    check_logits(logits, theta, inputs[:2])
    inputs_at_once = CACHED_INPUTS if theta.device.type == "cpu" else len(inputs)
    if chunk_size is not None:
        inputs_at_once = max(1, chunk_size // labels_per_input)
    weigh = partial(_draw, labels=labels_per_input, generator=generator)
    norms: Any = (
        squared_norms
        if isinstance(logits, FlatModule) and has_layer_rules(logits, theta, inputs)
        else norms_by_vmap
    )
    return _mean(
        torch.cat([norms(logits, theta, part, weigh) for part in inputs.split(inputs_at_once)])
    )


def _draw(
    log_probabilities: Tensor, labels: int, generator: torch.Generator
) -> tuple[Int[Tensor, "n j"], Float[Tensor, "n j"]]:
    """Draws from every row; of few classes all, with their frequencies, since a class that was
    drawn twice is worked out once then.
    """
    got = f"{tuple(log_probabilities.shape)}"
    require(log_probabilities.ndim == 2, f"`logits` must return a matrix, got shape {got}.")
    require(
        log_probabilities.isfinite().all(),
        "`logits` must return finite entries at `theta`, got others.",
    )
    (n, classes), device = log_probabilities.shape, log_probabilities.device
    drawn = torch.multinomial(
        log_probabilities.detach().exp().to(generator.device),
        labels,
        replacement=True,
        generator=generator,
    )
    drawn, weights = (
        drawn.to(device),
        torch.full((n, labels), 1 / labels, dtype=log_probabilities.dtype, device=device),
    )
    if labels < classes:
        return drawn, weights
    frequencies = torch.zeros(n, classes, dtype=weights.dtype, device=device).scatter_add_(
        1, drawn, weights
    )
    return torch.arange(classes, device=device).expand(n, classes), frequencies


def _mean(draws: Float[Tensor, " n"]) -> TraceEstimate:
    draws = draws.double()
    return TraceEstimate(float(draws.mean()), float(draws.std()) / len(draws) ** 0.5, len(draws))


def _rows_at_once(rows: int, width: int) -> list[int]:
    """`rows` cut into batches of at most BATCH_ENTRIES entries."""
    size = max(1, BATCH_ENTRIES // width)
    return [min(size, rows - first) for first in range(0, rows, size)]


def _unit_vectors(theta: Float[Tensor, " d"]) -> Iterator[Float[Tensor, "k d"]]:
    first = 0
    for rows in _rows_at_once(len(theta), len(theta)):
        unit = torch.zeros(rows, len(theta), dtype=theta.dtype, device=theta.device)
        unit[torch.arange(rows), torch.arange(first, first + rows)] = 1
        first += rows
        yield unit

"""How near can a softmax come to given distributions if its logits have a small rank?"""

from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.checks import Count, Range, Size, checked
from ntpcompanion.mlm.evaluation.evaluate import divergence
from ntpcompanion.randomness import torch_stream

SMALLEST = 1e-12  # a probability below counts as this where the descent starts


@dataclass(frozen=True, eq=False)
class LowRankFit:
    """Logits of rank d beside a bias, near a minimum of the mean divergence.

    `value` is the mean KL(Pr ‖ softmax of the logits) in nats, an upper bound of the least one, and
    `starts` are the values at which all starts end. `gradient` is the largest entry of the gradient
    times the number of distributions: small at a minimum.
    """

    value: float
    gradient: float
    starts: tuple[float, ...]
    decoder: Float[Tensor, "words rank"]
    bias: Float[Tensor, " words"]


@checked
def least_divergence(
    distributions: Annotated[Float[Tensor, "n words"], Range(0, 1)],
    rank: Annotated[int, Range(1, "words - 1", "(below the number of words)")],
    *,
    starts: Size = 2,
    iterations: Size = 400,
    seed: Count = 0,
) -> LowRankFit:
    """Minimize the mean KL(Pr(· | x) ‖ softmax(E h(x) + b)) over decoders E of a rank, biases b and
    features h(x): the softmax bottleneck of Yang et al. 2018, by L-BFGS from several starts.

    The problem is not convex: its value bounds the least divergence from above, and starts that
    agree are a sign that it is attained. The first start is the singular value decomposition of log
    Pr, centred over words and x, and the others add Gaussian noise of half its size. A network of
    width d with a LayerNorm before its decoder has rank d − 1. An iteration costs O(n · words ·
    rank).
    """
    true = distributions.double()
    logs = true.clamp_min(SMALLEST).log()
    logs = logs - logs.mean(1, keepdim=True)
    bias = logs.mean(0)
    left, scale, right = torch.linalg.svd(logs - bias, full_matrices=False)
    root = scale[:rank].sqrt()
    begin = [left[:, :rank] * root, right[:rank].T * root, bias]
    fits = []
    for number in range(starts):
        generator = torch_stream(seed, f"start {number}", true.device)
        noise = [torch.randn(x.shape, generator=generator, device=x.device).to(x) for x in begin]
        size = 0.5 if number else 0.0
        parts = [x + size * x.std() * y for x, y in zip(begin, noise, strict=True)]
        parts = [x.contiguous().requires_grad_() for x in parts]
        fits.append((*_descend(true, parts, parts, iterations), parts))
    value, gradient, (_, decoder, bias) = min(fits, key=lambda fit: fit[0])
    values = tuple(fit[0] for fit in fits)
    return LowRankFit(value, gradient, values, decoder.detach(), bias.detach())


@checked
def divergence_of_decoder(
    distributions: Annotated[Float[Tensor, "n words"], Range(0, 1)],
    fit: LowRankFit,
    *,
    iterations: Size = 400,
) -> Float[Tensor, " n"]:
    """KL(Pr(· | x) ‖ softmax(E h + b)) in nats with the best h for each x, a convex problem, where
    E and b were fitted to other distributions.

    The mean bounds the least divergence of the language from above, up to sampling error.
    """
    true = distributions.double()
    logs = true.clamp_min(SMALLEST).log() - fit.bias
    logs = logs - logs.mean(1, keepdim=True)
    centred = fit.decoder - fit.decoder.mean(0)
    features = (logs @ torch.linalg.pinv(centred).T).contiguous().requires_grad_()
    _descend(true, [features, fit.decoder, fit.bias], [features], iterations)
    return divergence(true, features.detach() @ fit.decoder.T + fit.bias)


def _descend(
    true: Tensor, parts: list[Tensor], free: list[Tensor], iterations: int
) -> tuple[float, float]:
    """Minimize over the free parts in place: the value, and the largest entry of the gradient."""
    optimizer = torch.optim.LBFGS(
        free,
        max_iter=iterations,
        history_size=20,
        tolerance_grad=1e-9,
        tolerance_change=1e-14,
        line_search_fn="strong_wolfe",
    )

    def loss() -> Tensor:
        optimizer.zero_grad()
        features, decoder, bias = parts
        value = divergence(true, features @ decoder.T + bias).mean()
        value.backward()
        return value

    optimizer.step(loss)
    value = float(loss().detach())
    gradient = max(float(x.grad.abs().max()) for x in free if x.grad is not None)
    return value, gradient * len(true)

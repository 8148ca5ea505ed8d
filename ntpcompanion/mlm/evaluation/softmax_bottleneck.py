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

    Fields
    ------
    value
        mean KL(Pr ‖ softmax of the logits) in nats: an upper bound of the least one.
    gradient
        largest entry of the gradient, times the number of distributions: small at a minimum.
    starts
        the values that all starts end at.
    decoder, bias
        E (words, rank) and b (words,).
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
    """Minimize mean KL(Pr(· | x) ‖ softmax(E h(x) + b)) over all decoders E (words × rank), biases
    b, and features h(x): the softmax bottleneck of Yang et al. 2018.

    Parameters
    ----------
    distributions
        Pr(· | x), a row for each x.
    rank
        d, the number of features.
    starts
        the first is the singular value decomposition of log Pr, centred over words and x; others
        are the same with Gaussian noise of half its size.
    iterations
        of L-BFGS for each start.
    seed
        of the noise.

    Returns
    -------
    LowRankFit
        of the best start.

    Raises
    ------
    ValueError
        what is not a distribution, a rank that is not below the number of words, a number below 1.

    Notes
    -----
    Not convex: what is found bounds the least divergence from above, and several starts that agree
    are a sign that it is attained. A network of width d with a LayerNorm before its decoder has
    features in d − 1 dimensions. An iteration costs O(n · words · rank).

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.mlm.evaluation.softmax_bottleneck import least_divergence
    >>> random = torch.Generator().manual_seed(0)
    >>> true = torch.randn(40, 6, generator=random).double().softmax(1)
    >>> values = [least_divergence(true, rank).value for rank in (1, 3, 5)]
    >>> values[0] > 3 * values[1], values[2] < 1e-6  # 5 features say everything of 6 words
    (True, True)
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
    """KL(Pr(· | x) ‖ softmax(E h + b)) with the best h for each x, for a decoder that was fitted to
    other distributions: its mean bounds the least divergence of the language from above, up to
    sampling error. The problem of each x is convex.

    Parameters
    ----------
    distributions
        others than those of the fit.
    fit
        of `least_divergence`, with as many words.
    iterations
        of L-BFGS.

    Returns
    -------
    Tensor
        nats, one for each distribution, at least 0.

    Raises
    ------
    ValueError
        another number of words.
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

"""What probes of many models are given and judged by: features, labels, posteriors."""

from typing import Annotated

from jaxtyping import Float, Int
from torch import Tensor

from ntpcompanion.checks import Finite, Is, Range

ROUNDING = 1e-6  # of a probability in single precision
TrainFeatures = Annotated[Float[Tensor, "k n d"], Finite]
TestFeatures = Annotated[Float[Tensor, "k m d"], Finite]
Posterior = Annotated[Float[Tensor, "m classes"], Range(0, 1 + ROUNDING)]
TrainLabels = Annotated[
    Int[Tensor, " n"],
    Range(0, "posterior.shape[1] - 1"),
    Is(lambda labels: labels.min() < labels.max(), "hold several classes", "Draw more examples."),
]


def accuracy_by_posterior(
    logits: Float[Tensor, "k m classes"], posterior: Float[Tensor, "m classes"]
) -> Float[Tensor, "k"]:
    """Per model the mean probability of the guessed class, the one of the largest logit."""
    guesses = logits.argmax(-1, keepdim=True)
    right = posterior.to(logits.device).double().expand(len(logits), -1, -1).gather(2, guesses)
    return right.mean((1, 2))

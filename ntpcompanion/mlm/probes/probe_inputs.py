"""What probes of many models are given and judged by: features, labels, posteriors."""

from jaxtyping import Float
from torch import Tensor

from ntpcompanion.mlm.data.mlm_checks import check_integers, check_numbers
from ntpcompanion.validation import check_range, check_tensor

ROUNDING = 1e-6  # of a probability in single precision


def accuracy_by_posterior(
    logits: Float[Tensor, "k m classes"], posterior: Float[Tensor, "m classes"]
) -> Float[Tensor, "k"]:
    """Per model the mean probability of the guessed class, the one of the largest logit."""
    guesses = logits.argmax(-1, keepdim=True)
    right = posterior.to(logits.device).double().expand(len(logits), -1, -1).gather(2, guesses)
    return right.mean((1, 2))


def check_features(train: Tensor, test: Tensor) -> None:
    """Raise ValueError unless both are finite features of the same models, of one width."""
    check_tensor("train", train)
    check_tensor("test", test)
    if train.dim() != 3 or train.shape[::2] != test.shape[::2]:
        raise ValueError(
            "`train` and `test` must be features (k, n, d) and (k, m, d), got "
            f"{tuple(train.shape)} and {tuple(test.shape)}."
        )
    check_numbers("train", train, (None, None, None))
    check_numbers("test", test, (None, None, None))


def check_labels(labels: Tensor, examples: int, posterior: Tensor, tests: int) -> None:
    """Raise ValueError unless there is a label for each training example and a posterior for each
    test example, the labels are several of the classes, and the posterior holds probabilities.
    """
    check_tensor("labels", labels)
    check_tensor("posterior", posterior)
    if labels.shape != (examples,) or posterior.dim() != 2 or len(posterior) != tests:
        raise ValueError(
            f"`labels` must have shape ({examples},) and `posterior` ({tests}, classes), got "
            f"{tuple(labels.shape)} and {tuple(posterior.shape)}."
        )
    check_integers("labels", labels, (examples,))
    check_numbers("posterior", posterior, (tests, None))
    check_range("posterior", posterior, 0, 1 + ROUNDING)
    lowest, highest = (int(x) for x in labels.aminmax())
    if lowest < 0 or highest >= posterior.shape[1]:
        raise ValueError(
            f"`labels` must be classes 0 … {posterior.shape[1] - 1}, the columns of `posterior`, "
            f"got {lowest} … {highest}."
        )
    if lowest == highest:
        raise ValueError(
            f"`labels` are all {lowest}: there is nothing to learn. Draw more training examples."
        )

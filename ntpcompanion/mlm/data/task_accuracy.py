"""The accuracy of guesses with its standard error, and the best one that a posterior allows."""

from dataclasses import dataclass

from jaxtyping import Float, Integer
from torch import Tensor

from ntpcompanion.languages.language_checks import check_normalized
from ntpcompanion.validation import check_range, described, require


@dataclass(frozen=True)
class Accuracy:
    """A share of right guesses, and its standard error."""

    value: float
    stderr: float


def accuracy_of(right: Tensor) -> Accuracy:
    """The mean of a share of right guesses for each example, and the standard error of that
    mean.
    """
    right = right.double()
    return Accuracy(float(right.mean()), float(right.std(correction=0) / len(right) ** 0.5))


def bayes_accuracy(posterior: Float[Tensor, "n classes"]) -> Accuracy:
    """What no guess from the sentence can exceed, E max_y Pr(y | x), from the exact posterior on n
    sentences.

    No label is needed, which makes the error smaller than that of the guesses themselves. It bounds
    expectations: measured on finitely many labels, an accuracy may be above by its own error.

    Raises ValueError for no row, or rows that are not a distribution.
    """
    require(len(posterior), "`posterior` must have a row for each sentence, got none.")
    probable = (posterior.isfinite() & (posterior >= 0)).all()
    require(probable, "`posterior` must hold probabilities. Give Pr(label | sentence).")
    check_normalized("posterior", posterior.double().sum(1))
    return accuracy_of(posterior.amax(1))


def posterior_accuracy(
    posterior: Float[Tensor, "n classes"], guesses: Integer[Tensor, " n"]
) -> Accuracy:
    """The expected accuracy of given guesses, E Pr(guess | x), from the exact posterior on n
    sentences.

    It has the mean of the share of right guesses, without the noise of drawn labels.

    Raises ValueError unless there is one guess in 0 … classes − 1 for each row.
    """
    fits = guesses.shape == posterior.shape[:1] and not guesses.is_floating_point()
    require(fits, f"`guesses` must be integers, one for each row, got {described(guesses)}.")
    check_range("guesses", guesses, 0, posterior.shape[1] - 1)
    return accuracy_of(posterior.gather(1, guesses.to(posterior.device)[:, None].long())[:, 0])

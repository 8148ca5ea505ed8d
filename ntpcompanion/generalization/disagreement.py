"""Two runs disagree as often as each errs, if their ensemble is calibrated, and otherwise up to
half of its calibration error (after Jiang, Nagarajan, Baek, Kolter 2022).
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from ntpcompanion.checks import Range, Shape, checked, need
from ntpcompanion.validation import as_array, as_integer_array, as_shaped, check_probabilities


@dataclass(frozen=True, eq=False)
class Disagreement:
    """How often classifiers err and disagree, and how well their votes are calibrated.

    Fields
    ------
    error
        E P(h(X) ≠ Y) for a classifier h drawn from the ensemble.
    disagreement
        E P(h(X) ≠ h'(X)) for two independent draws h, h', which may be the same classifier.
    residual
        δ (models + 1,), where entry i belongs to the fraction of votes q = i / models: the
        probability of the label, summed over the classes that get this fraction, less q times their
        number; mean over inputs.
    """  # noqa: D405, D411 (`error` is a field, no section)

    error: float
    disagreement: float
    residual: Float[np.ndarray, " levels"]

    @property
    def vote_fractions(self) -> Float[np.ndarray, " levels"]:
        """The fractions of votes q, from 0 to 1."""
        return np.linspace(0, 1, len(self.residual))

    @property
    def gap(self) -> float:
        """Disagreement less error."""
        return self.disagreement - self.error

    @property
    def calibration_error(self) -> float:
        """CACE, the class-aggregated calibration error, from 0 to 2."""
        return float(np.abs(self.residual).sum())

    @property
    def bound(self) -> float:
        """Half the calibration error, which the gap does not exceed."""
        return self.calibration_error / 2

    @property
    def between_models(self) -> float:
        """The disagreement of two different classifiers of the ensemble, mean over pairs."""
        models = len(self.residual) - 1
        return self.disagreement * models / (models - 1) if models > 1 else float("nan")


@checked(
    need("labels", "np.ndim(labels) < 3", "be classes, or a row for each input"),
    need(
        "predictions",
        "np.ndim(labels) < 2 or np.asarray(predictions).max() < np.shape(labels)[1]",
        "be columns of `labels`",
    ),
)
def compare_disagreement(
    predictions: Annotated[ArrayLike, Shape("models n", integers=True), Range(0)],
    labels: Annotated[ArrayLike, Shape("n ..."), Range(0)],
    weight: Annotated[ArrayLike, Shape("n")] | None = None,
) -> Disagreement:
    """Error, disagreement and calibration of an ensemble of classifiers on given inputs.

    Parameters
    ----------
    predictions
        (models, n), the class that each classifier says for each input.
    labels
        (n,), the class of each input; or (n, classes), its probabilities.
    weight
        (n,), probabilities of the inputs, each 1 / n if not given.

    Returns
    -------
    Disagreement
        expectations over inputs, labels, and independent draws of classifiers. `gap` is
        Σ_q q δ(q) exactly, and at most half of the sum of abs δ(q), because Σ_q δ(q) = 0.

    Raises
    ------
    ValueError
        classes below 0 or beyond the columns of the probabilities, shapes that do not fit,
        probabilities that do not sum to 1.

    Notes
    -----
    Cost O(models · n + n · classes).

    Examples
    --------
    Three classifiers, two inputs: all agree on the first, one dissents on the second.

    >>> from ntpcompanion.generalization import compare_disagreement
    >>> found = compare_disagreement([[0, 1], [0, 1], [0, 2]], labels=[0, 2])
    >>> round(found.error, 4), round(found.disagreement, 4), round(found.bound, 4)
    (0.3333, 0.2222, 0.3333)
    """
    predicted = as_integer_array("predictions", predictions)
    target = _probabilities(labels, predicted)
    n, classes = target.shape
    mass = np.full(n, 1 / n) if weight is None else as_shaped("weight", weight, (n,))
    check_probabilities("weight", mass, mass.sum())
    votes = _count_votes(predicted, classes)
    fraction = votes / len(predicted)
    residual = np.zeros(len(predicted) + 1)
    np.add.at(residual, votes, mass[:, None] * (target - fraction))
    return Disagreement(
        error=float(mass @ (1 - (fraction * target).sum(1))),
        disagreement=float(mass @ (1 - (fraction**2).sum(1))),
        residual=residual,
    )


def _probabilities(
    labels: ArrayLike, predicted: Int[np.ndarray, "models n"]
) -> Float[np.ndarray, "n classes"]:
    """Labels as a row of probabilities for each input; the classes are those that occur."""
    array = as_array("labels", labels)
    if array.ndim == 1:
        known = as_integer_array("labels", labels)
        return np.eye(max(known.max(), predicted.max()) + 1)[known]
    check_probabilities("labels", array, array.sum(1))
    return array


def _count_votes(
    predicted: Int[np.ndarray, "models n"], classes: int
) -> Int[np.ndarray, "n classes"]:
    votes = np.zeros((predicted.shape[1], classes), dtype=np.int64)
    for row in predicted:
        votes[np.arange(len(row)), row] += 1
    return votes

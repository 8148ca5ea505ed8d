"""Sharpness-aware minimization on a model with an easy and a hard feature (a stand-in for the toy
of Springer, Nagarajan, Raghunathan 2024): f(x) = Σ_j u_j v_j x_j with the logistic loss.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.checks import Between, Is, Positive, Range, Shape, Size, checked, need
from ntpcompanion.validation import as_array


@dataclass(frozen=True, eq=False)
class FeatureModel:
    """A stack of models f(x) = Σ_j u_j v_j x_j, one for each data set, at their parameters.

    Fields
    ------
    inner, outer
        u and v (stack, features): how strongly a feature is represented, and how much the last
        layer uses it.
    """

    inner: Float[np.ndarray, "stack features"]
    outer: Float[np.ndarray, "stack features"]

    def losses(
        self, inputs: Float[np.ndarray, "stack n features"], labels: Float[np.ndarray, "stack n"]
    ) -> Float[np.ndarray, " stack"]:
        """Mean logistic loss log(1 + exp(−y f(x))) in nats."""
        return np.logaddexp(0, -self._margins(inputs, labels)).mean(axis=1)

    def importance(
        self, inputs: Float[np.ndarray, "stack n features"], labels: Float[np.ndarray, "stack n"]
    ) -> Float[np.ndarray, "stack n"]:
        """λ_i = 1/(1 + exp(y_i f(x_i))): the size of the derivative of each loss in its logit."""
        return np.exp(-np.logaddexp(0, self._margins(inputs, labels)))

    def gradients(
        self, inputs: Float[np.ndarray, "stack n features"], labels: Float[np.ndarray, "stack n"]
    ) -> tuple[Float[np.ndarray, "stack features"], Float[np.ndarray, "stack features"]]:
        """Gradients of the mean loss in u and v: −c_j v_j and −c_j u_j, c_j = mean of λ y x_j."""
        weights = self.importance(inputs, labels) * labels / labels.shape[1]
        pull = np.einsum("bn,bnj->bj", weights, inputs)
        return -pull * self.outer, -pull * self.inner

    def _margins(self, inputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return np.asarray(labels * np.einsum("bnj,bj->bn", inputs, self.inner * self.outer))


SIGNS = Is(lambda labels: np.isin(np.asarray(labels), (-1, 1)).all(), "be −1 or 1 throughout")
Radius = Annotated[ArrayLike, Shape("..."), Range(0)]
ONE_OR_EACH = need(
    "radius",
    "np.shape(radius) in ((), np.shape(labels)[:1])",
    "be a number, or one for each of the {stack} data sets",
)


@checked(ONE_OR_EACH)
def ascended(
    model: FeatureModel,
    inputs: Float[np.ndarray, "stack n features"],
    labels: Float[np.ndarray, "stack n"],
    radius: Radius,
    *,
    last_layer: bool = False,
) -> FeatureModel:
    """The model at SAM's second point, θ + ρ g/‖g‖, θ itself where the gradient vanishes; with
    `last_layer` only v is moved (LSAM). Labels are −1 and 1; `radius` may have one ρ for each of
    the stack. Raises ValueError for a radius that is negative or infinite.
    """
    return _ascend(model, inputs, labels, as_array("radius", radius), last_layer)


def _ascend(
    model: FeatureModel,
    inputs: Float[np.ndarray, "stack n features"],
    labels: Float[np.ndarray, "stack n"],
    radius: Float[np.ndarray, "*stack"],
    last_layer: bool,
) -> FeatureModel:
    down, out = model.gradients(inputs, labels)
    if last_layer:
        down = np.zeros_like(down)
    length = np.sqrt((down**2 + out**2).sum(axis=1))
    step = (radius / np.where(length > 0, length, 1))[:, None]
    return FeatureModel(model.inner + step * down, model.outer + step * out)


@checked(ONE_OR_EACH)
def train_to_losses(
    inputs: Annotated[ArrayLike, Shape("stack n features")],
    labels: Annotated[ArrayLike, Shape("stack n"), SIGNS],
    *,
    radius: Radius,
    losses: Annotated[
        ArrayLike,
        Shape("goals"),
        Between(0, np.inf),
        Is(lambda losses: (np.diff(np.asarray(losses)) < 0).all(), "fall"),
    ],
    start: float = 0.5,
    learning_rate: Positive = 0.1,
    last_layer: bool = False,
    max_steps: Size = 2_000,
) -> list[FeatureModel]:
    """Train by SAM with the full gradient, and keep each model when it first reaches each loss, so
    that models of equal loss can be compared.

    Parameters
    ----------
    inputs, labels
        (stack, n, features), and (stack, n) of −1 and 1.
    radius
        ρ of SAM, one number or one for each of the stack; 0 is gradient descent.
    losses
        mean training losses in nats, positive and falling.
    start
        of all entries of u and v.
    learning_rate
        η.
    last_layer
        whether the ascent moves v only.
    max_steps
        after which a loss counts as not reached.

    Returns
    -------
    list of FeatureModel
        one for each loss, all of the stack in each.

    Raises
    ------
    ValueError
        other shapes, labels that are not -1 or 1, losses that are not positive, do not fall or
        are not reached.

    Notes
    -----
    O(stack · n · features) a step, of which some hundred are taken.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.generalization import train_to_losses
    >>> x, y = np.ones((1, 2, 1)) * [[[1.0], [-1.0]]], np.array([[1.0, -1.0]])
    >>> reached = train_to_losses(x, y, radius=0.1, losses=[0.3, 0.1])
    >>> [round(float(model.losses(x, y)[0]), 2) for model in reached]
    [0.29, 0.1]
    """
    X, y = as_array("inputs", inputs), as_array("labels", labels)
    goals, reach = as_array("losses", losses), as_array("radius", radius)
    first = np.full((len(X), X.shape[2]), float(start))
    model, missing = FeatureModel(first, first), np.ones((len(goals), len(X)), dtype=bool)
    models = [FeatureModel(first.copy(), first.copy()) for _ in goals]
    for _ in range(max_steps):
        now = missing & (model.losses(X, y) <= goals[:, None])
        for goal, reached in zip(models, now, strict=True):
            goal.inner[reached], goal.outer[reached] = model.inner[reached], model.outer[reached]
        missing &= ~now
        if not missing.any():
            return models
        there = _ascend(model, X, y, reach, last_layer)
        down, out = there.gradients(X, y)
        model = FeatureModel(model.inner - learning_rate * down, model.outer - learning_rate * out)
    raise ValueError(
        f"`losses`: {np.count_nonzero(missing)} of {missing.size} were not reached in {max_steps} "
        "steps. Raise `max_steps` or `learning_rate`; a `radius` near the length of the parameters "
        "at the start keeps SAM at the origin."
    )


@checked
def gini(
    weights: Annotated[
        ArrayLike,
        Shape("*stack n"),
        Range(0),
        Is(lambda weights: np.sum(np.asarray(weights), -1).all(), "not be all 0"),
    ],
) -> Float[np.ndarray, "..."]:
    """Gini's coefficient of weights: 0 if all are equal, 1 − 1/n if one of n has everything. Raises
    ValueError for weights that are negative, infinite or all zero.
    """
    ordered = np.sort(as_array("weights", weights), axis=-1)
    n = ordered.shape[-1]
    ranks = 2 * np.arange(1, n + 1) - n - 1
    return np.asarray(ordered @ ranks / (n * ordered.sum(axis=-1)))

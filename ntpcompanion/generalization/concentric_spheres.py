"""A network that tells two spheres apart, and its sample moved to the other sphere: the second
experiment of Nagarajan, Kolter (2019), in a small version.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from ntpcompanion.checks import Positive, Size, checked
from ntpcompanion.generalization.uniform_convergence import Sample

INNER, OUTER = 1.0, 1.1  # radii of the spheres with label -1 and 1
FITTED = 0.99  # fraction of the sample that must reach the margin


@dataclass(frozen=True, eq=False)
class TwoLayerNet:
    """A network with one hidden layer of rectified linear units (`inner` (d, width), `bias`) and
    one output (`outer`, `offset`), in single precision.
    """

    inner: Float[np.ndarray, "d width"]
    bias: Float[np.ndarray, " width"]
    outer: Float[np.ndarray, " width"]
    offset: Float[np.ndarray, ""]
    epochs: int = 0

    def margins(self, sample: Sample) -> Float[np.ndarray, " n"]:
        """The margins y f(x): positive where it is classified right."""
        hidden = np.maximum(sample.inputs @ self.inner + self.bias, 0)
        return sample.labels * (hidden @ self.outer + self.offset)

    def error(self, sample: Sample) -> float:
        """The fraction of points with a margin of at most 0."""
        return float(np.mean(self.margins(sample) <= 0))

    def gradients(self, sample: Sample) -> dict[str, Any]:
        """Gradients of the mean of log(1 + exp(-y f(x))), by field."""
        before = sample.inputs @ self.inner + self.bias
        hidden = np.maximum(before, 0)
        margin = sample.labels * (hidden @ self.outer + self.offset)
        slope = (-sample.labels * expit(-margin) / len(margin)).astype(np.float32)
        back = np.outer(slope, self.outer) * (before > 0)
        return {
            "inner": sample.inputs.T @ back,
            "bias": back.sum(axis=0),
            "outer": slope @ hidden,
            "offset": slope.sum(),
        }


@checked
def draw_spheres(rng: np.random.Generator, m: Size, dim: Size) -> Sample:
    """Draw points uniformly from two concentric spheres, of radius 1 (label −1) and 1.1 (label 1);
    labels are fair coins, numbers single precision. Raises ValueError for no generator, or sizes
    below 1.
    """
    labels = rng.choice(np.array([-1, 1]), m)
    directions = rng.standard_normal((m, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radii = np.where(labels == 1, OUTER, INNER)
    return Sample((directions * radii[:, None]).astype(np.float32), labels)


@checked
def to_other_sphere(sample: Sample) -> Sample:
    """The sample S′: each point is moved along its ray to the other sphere, with that one's label,
    which leaves the distribution as it is. Raises ValueError for what is not a `Sample`.
    """
    factors = np.where(sample.labels == 1, INNER / OUTER, OUTER / INNER)
    inputs = (sample.inputs * factors[:, None]).astype(sample.inputs.dtype)
    return Sample(inputs, -sample.labels)


@checked
def train_two_layers(
    rng: np.random.Generator,
    sample: Sample,
    *,
    width: Size,
    learning_rate: Positive,
    batch_size: Size = 64,
    margin: Positive = 1.0,
    epochs: Size = 1_000,
) -> TwoLayerNet:
    """Train a network by SGD to the end of the first epoch at which 99 % of the sample have y f(x)
    ≥ `margin`, or for `epochs`. Raises ValueError for no generator or `Sample`, sizes below 1, a
    rate or margin that is not positive.
    """
    rate = np.float32(learning_rate)
    data = replace(sample, inputs=sample.inputs.astype(np.float32))
    net = _initial(rng, data.inputs.shape[1], width)
    done, fitted = 0, False
    while done < epochs and not fitted:
        order = rng.permutation(len(data.labels))
        for first in range(0, len(order), batch_size):
            rows = order[first : first + batch_size]
            _descend(net, Sample(data.inputs[rows], data.labels[rows]), rate)
        fitted = bool(np.mean(net.margins(data) >= margin) >= FITTED)
        done += 1
    return replace(net, epochs=done)


def _initial(rng: np.random.Generator, dim: int, width: int) -> TwoLayerNet:
    inner = rng.standard_normal((dim, width)) * (2 / dim) ** 0.5
    outer = rng.standard_normal(width) * (2 / width) ** 0.5
    zero = np.zeros(width, np.float32)
    return TwoLayerNet(
        inner.astype(np.float32), zero, outer.astype(np.float32), np.zeros((), np.float32)
    )


def _descend(net: TwoLayerNet, batch: Sample, rate: np.float32) -> None:
    """A step in place: the arrays of the network are its own until it is handed out."""
    for name, gradient in net.gradients(batch).items():
        weights = getattr(net, name)
        weights -= rate * gradient

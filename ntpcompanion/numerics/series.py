"""The exponential near zero, without cancellation."""

import numpy as np
from jaxtyping import Float

# Below this distance from zero four terms of a series beat the difference e^x − 1 − x, which has
# lost six digits there.
NEAR = 1e-3


def exp_remainder(x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """e^x − 1 − x for |x| ≤ NEAR, by its series: the plain difference would cancel."""
    return x * x * (0.5 + x * (1 / 6 + x * (1 / 24 + x / 120)))

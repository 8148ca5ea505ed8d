"""What the loss does at a kink of the ReLU: one-sided second derivatives along a line, which differ
where there is no Hessian.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Int

from ntpcompanion.checks import checked
from ntpcompanion.dyck.neurons import Neurons
from ntpcompanion.validation import as_integer_array


@dataclass(frozen=True)
class OneSided:
    """The limits of 2 L(θ + ε d) / ε² at zero loss as ε falls to 0 and rises to 0, exactly; they
    are equal for every d where L has a Hessian.
    """

    forward: Fraction
    backward: Fraction


@checked
def one_sided_second_derivatives(
    neurons: Neurons,
    z: Int[np.ndarray, "N d"],
    directions: Int[np.ndarray, "{len(neurons.numerators)} d"],
    numerators: Int[np.ndarray, "{len(neurons.numerators)}"],
) -> OneSided:
    """Second derivatives of the loss, as fractions, along (v_j + ε dv_j, c_j + ε dc_j) from both
    sides: the mean of 2 g², where a neuron that is on adds dc_j (v_j·z) + c_j (dv_j·z) to g and one
    with v_j·z = 0 c_j σ(dv_j·z); for ε < 0 in the direction −d. `numerators` are dc_j ·
    `neurons.denominator`. Raises ValueError for steps of another shape.
    """
    directions = as_integer_array("directions", directions)
    numerators = as_integer_array("numerators", numerators)
    values, moves = neurons.preactivations(z), z @ directions.T
    sides = []
    for sign in (1, -1):
        slopes = np.where(values > 0, sign * moves, (values == 0) * np.maximum(sign * moves, 0))
        change = slopes @ neurons.numerators + sign * np.maximum(values, 0) @ numerators
        total = sum(int(g) ** 2 for g in change)
        sides.append(Fraction(2 * total, len(z) * neurons.denominator**2))
    return OneSided(*sides)

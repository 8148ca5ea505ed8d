"""ReLU neurons in integers: their sums, signs and averages over all inputs are exact, also where a
pre-activation is zero.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Int

from ntpcompanion.checks import Size, checked
from ntpcompanion.dyck.bracket_transformer import Parameters, uniform_attention
from ntpcompanion.validation import as_integer_array, as_matrix

# Pre-activations of so many (input, neuron) pairs are held at a time.
BLOCK = 2**22


@dataclass(frozen=True, eq=False)
@checked
class Neurons:
    """The function f(z) = Σ_j c_j σ(v_j·z) of z = Σ_τ x_τ, with integer directions v_j and rational
    c_j, under uniform attention.

    Fields
    ------
    directions
        (m, 2T), the integers v_j.
    numerators
        (m,), the integers c_j · `denominator`.
    denominator
        positive.

    Raises
    ------
    ValueError
        no neurons, a numerator missing, what are not integers, or a denominator below 1.
    """

    directions: Int[np.ndarray, "m d"]
    numerators: Int[np.ndarray, " m"]
    denominator: Size = 1

    def __post_init__(self) -> None:
        for name in ("directions", "numerators"):
            object.__setattr__(self, name, as_integer_array(name, getattr(self, name)))

    @property
    def coefficients(self) -> list[Fraction]:
        """The c_j."""
        return [Fraction(int(c), self.denominator) for c in self.numerators]

    def preactivations(self, z: Int[np.ndarray, "N d"]) -> Int[np.ndarray, "N m"]:
        """v_j·z, exactly: the sums are far below 2^53, where float64 stops to hold every
        integer.
        """
        z = as_matrix("z", z, (None, self.directions.shape[1]))
        return (z @ self.directions.T.astype(float)).astype(np.int64)

    def active(self, z: Int[np.ndarray, "N d"]) -> Bool[np.ndarray, "N m"]:
        """1{v_j·z > 0}, from integers."""
        return self.preactivations(z) > 0

    def scaled_values(self, z: Int[np.ndarray, "N d"]) -> Int[np.ndarray, " N"]:
        """f(z) · `denominator`, an integer."""
        total = np.zeros(len(z), dtype=np.int64)
        for part in self.blocks(len(z)):
            total += np.maximum(part.preactivations(z), 0) @ part.numerators
        return total

    @checked
    def error(self, z: Int[np.ndarray, "N d"], targets: Int[np.ndarray, " N"]) -> Fraction:
        """Mean (f(z) − target)²."""
        targets = as_integer_array("targets", targets)
        gap = self.scaled_values(z) - self.denominator * targets
        return Fraction(sum(int(g) ** 2 for g in gap), len(z) * self.denominator**2)

    def blocks(self, N: int) -> Iterator["Neurons"]:
        """The neurons in parts, whose pre-activations of N inputs fit in memory."""
        size = max(1, BLOCK // N)
        for start in range(0, len(self.directions), size):
            part = slice(start, start + size)
            yield Neurons(self.directions[part], self.numerators[part], self.denominator)

    def statistics(self, z: Int[np.ndarray, "N d"]) -> list["Statistics"]:
        """Exact averages of every neuron over the N rows of z, equally likely."""
        averages = []
        for part in self.blocks(len(z)):
            values = part.preactivations(z)
            on = np.maximum(values, 0)
            rows = zip(
                (on > 0).sum(0), on.sum(0), (on**2).sum(0), (values == 0).sum(0), strict=True
            )
            averages += [
                Statistics(*(Fraction(int(count), len(z)) for count in row)) for row in rows
            ]
        return averages

    def parameters(self, z: Int[np.ndarray, "N d"]) -> Parameters:
        """θ with this function and, among all splits of c_j into w_j = a v_j and u_j = c_j T / a,
        the smallest trace over the rows of z.

        a² = ‖c‖ T^{3/2} √(P / S) with P and S of `Statistics`. A neuron that is off on all rows has
        every split; it gets that of one whose active value is 1.
        """
        T = z.shape[1] // 2
        c = self.numerators / self.denominator
        ratio = np.array([float(s.on / s.square) if s.square else 1.0 for s in self.statistics(z)])
        scale = np.sqrt(np.where(c == 0, 1, np.abs(c)) * T**1.5 * np.sqrt(ratio))
        return uniform_attention(scale[:, None] * self.directions, c * T / scale)


@dataclass(frozen=True)
class Statistics:
    """Of one integer neuron over equally likely inputs: the fraction P of inputs with v·z > 0, the
    means of σ(v·z) and of its square (S), and the fraction of inputs with v·z = 0, where the ReLU
    has no derivative.
    """

    on: Fraction
    mean: Fraction
    square: Fraction
    at_kink: Fraction

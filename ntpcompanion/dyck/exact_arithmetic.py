"""The trace, the inequalities of Lemma D.1 and ranks in exact arithmetic, for integer neurons under
uniform attention.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy
from jaxtyping import Int
from sympy import ZZ
from sympy.polys.matrices import DomainMatrix

from ntpcompanion.checks import checked
from ntpcompanion.dyck.neurons import Neurons


@dataclass(frozen=True)
class ExactChain:
    """The inequalities (6)–(9) for integer neurons, every term in units of the bound 2/√T.

    Fields
    ------
    loss
        mean (f − f*)², exactly. The rest compares to 1 only where it is zero.
    trace
        (6), E‖∇f‖² at the flattest split of every c_j: Σ ‖c_j‖ √(P_j S_j), with the indicator 1{0}
        = 0.
    per_neuron
        (7), Σ ‖c_j‖ E σ(v_j·z): equal to `trace` if each neuron has one positive value (condition
        3).
    no_cancellation
        (8), E‖f‖: equal to `per_neuron` if active neurons share their sign (condition 4); 1 at zero
        loss, and that is (9).
    """

    loss: Fraction
    trace: sympy.Expr
    per_neuron: Fraction
    no_cancellation: Fraction


@checked
def exact_chain(
    neurons: Neurons, z: Int[np.ndarray, "N d"], targets: Int[np.ndarray, " N"]
) -> ExactChain:
    """Lemma D.1 for integer neurons over the rows of z, equally likely: no rounding anywhere. O(N m
    T).
    """
    statistics = neurons.statistics(z)
    weights = [abs(c) for c in neurons.coefficients]
    trace = _sum_of_roots((c, s.on * s.square) for c, s in zip(weights, statistics, strict=True))
    per_neuron = sum((c * s.mean for c, s in zip(weights, statistics, strict=True)), Fraction(0))
    total = Fraction(int(np.abs(neurons.scaled_values(z)).sum()), len(z) * neurons.denominator)
    return ExactChain(neurons.error(z, targets), trace, per_neuron, total)


@dataclass(frozen=True)
class Curvature:
    """E of squared slopes of f along all coordinates of (W_V, u), in units of 2/√T: half the
    curvature of the squared loss at zero loss.

    Fields
    ------
    formula
        with the indicator 1{w·h > 0}: what the paper's trace sees.
    forward, backward
        one-sided: the limits of Σ_i L(θ ± ε e_i) / ε².
    two_sided
        their mean: the limit of Σ_i [L(θ + ε e_i) + L(θ − ε e_i)] / 2ε².
    """

    formula: sympy.Expr
    forward: sympy.Expr
    backward: sympy.Expr
    two_sided: sympy.Expr


@checked
def curvature(neurons: Neurons, z: Int[np.ndarray, "N d"]) -> Curvature:
    """One-sided and two-sided curvature at the flattest split of a zero-loss solution, exactly.

    They are all the same unless a pre-activation is zero on some input: there a step along ± e_k of
    w_j changes f by u_j σ(± h_k), which the formula does not count. A neuron at rest, with c_j = 0
    or off on all inputs, must have u_j = 0 and adds nothing.
    """
    statistics = neurons.statistics(z)
    weights = [abs(c) for c in neurons.coefficients]
    formula = _sum_of_roots((c, s.on * s.square) for c, s in zip(weights, statistics, strict=True))
    sides = []
    for sign in (1, -1):
        rises = _rises_at_kinks(neurons, z, (sign * z > 0).sum(1))
        terms = (
            (c * rise / 2, s.square / s.on)
            for c, s, rise in zip(weights, statistics, rises, strict=True)
            if s.on
        )
        sides.append(sympy.nsimplify(formula + _sum_of_roots(terms)))
    forward, backward = sides
    return Curvature(formula, forward, backward, sympy.nsimplify((forward + backward) / 2))


def _rises_at_kinks(neurons: Neurons, z: np.ndarray, rising: np.ndarray) -> list[Fraction]:
    """For every neuron, E 1{v·z = 0} times the fraction of the T coordinates of z along which it
    rises.
    """
    T = z.shape[1] // 2
    fractions = []
    for part in neurons.blocks(len(z)):
        counts = rising @ (part.preactivations(z) == 0)
        fractions += [Fraction(int(count), len(z) * T) for count in counts]
    return fractions


def _sum_of_roots(terms: Iterable[tuple[Fraction, Fraction]]) -> sympy.Expr:
    """Σ weight · √square over fractions, equal squares together."""
    weights: defaultdict[Fraction, Fraction] = defaultdict(Fraction)
    for weight, square in terms:
        weights[square] += weight
    return sympy.Add(
        *(_rational(weight) * sympy.sqrt(_rational(square)) for square, weight in weights.items())
    )


def _rational(value: Fraction) -> sympy.Rational:
    return sympy.Rational(value.numerator, value.denominator)


def integer_rank(matrix: Int[np.ndarray, "n d"]) -> int:
    """The rank over the rationals, by elimination in integers. O(n d · rank) operations on integers
    that grow.
    """
    return (
        DomainMatrix([[ZZ(int(entry)) for entry in row] for row in matrix], matrix.shape, ZZ)
        .to_sparse()
        .rank()
    )


@dataclass(frozen=True)
class SignRule:
    """Fact D.2, checked on all inputs.

    Fields
    ------
    silent_on_the_other_side
        part 1: a neuron with c_j > 0 is off wherever f* = −1, and one with c_j < 0 wherever f* =
        +1.
    none_dead
        part 2: every neuron with v_j ≠ 0 is on somewhere.
    """

    silent_on_the_other_side: bool
    none_dead: bool


@checked
def sign_rule(
    neurons: Neurons, z: Int[np.ndarray, "N d"], targets: Int[np.ndarray, " N"]
) -> SignRule:
    """Check Fact D.2 (Liu et al. 2023), which holds for solutions that attain the bound, by
    enumeration in exact integers; `targets` are f* = ±1 of the inputs z.
    """
    silent, dead = True, False
    for part in neurons.blocks(len(z)):
        on = part.active(z)
        silent &= not (on & (np.multiply.outer(targets, part.numerators) < 0)).any()
        dead |= bool(((part.directions != 0).any(1) & ~on.any(0)).any())
    return SignRule(silent, not dead)

"""Which neurons attain the lower bound of the trace at every length, and does a head on them count?

Everything is computed over all inputs, in integers, fractions and roots, and rounded at the end.
"""

from fractions import Fraction
from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Int
from pydantic import Field

from ntpcompanion.dyck import bracket_counting, exact_arithmetic, sentences, solutions
from ntpcompanion.dyck.kinks import one_sided_second_derivatives
from ntpcompanion.dyck.neurons import Neurons
from ntpcompanion.dyck.single_condition import mask_as_bias, two_values
from ntpcompanion.dyck.single_valued import single_valued_neurons
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of

MEMORISED = 8  # brackets of the longest sentences of the memoriser: a neuron for each input
SCALE, REACH = 20, 10  # steps k / SCALE for even k, |k| ≤ REACH, through a kink


class Plan(experiment.Plan):
    """Even lengths T from 4 on, whose sentences are enumerated."""

    max_length: Annotated[int, Field(ge=6, le=12, description="largest T, brackets")] = 12

    @property
    def lengths(self) -> range:
        """All T."""
        return range(4, self.max_length + 1, 2)


class Length(experiment.Result):
    """What holds at one length, with a mask of random sign."""

    T: Annotated[int, Field(description="brackets")]
    obeyed: Annotated[bool, Field(description="fact D.2, by the network that counts")]
    rank_missing: Annotated[int, Field(description="of the circulant of lemma D.5, from T − 1")]
    single_valued: Annotated[int, Field(description="neurons with one positive value")]
    smooth: Annotated[int, Field(description="those of them without a kink")]


class Solution(experiment.Result):
    """A solution of zero loss at its flattest scale, at one length."""

    name: Annotated[str, Field(description="random sign of the mask, but for B: fixed")]
    T: Annotated[int, Field(description="brackets")]
    loss: Annotated[float, Field(ge=0, description="mean (f − f*)²")]
    trace: Annotated[float, Field(description="multiple of the bound")]
    two_sided: Annotated[float, Field(description="the same by two-sided second differences")]
    kinked: Annotated[float, Field(description="fraction of inputs on a kink")]
    head_error: Annotated[float, Field(description="of the best head, fraction of the variance")]


class Kink(experiment.Result):
    """The loss on a line through B′: its first neuron moves towards (1; 0) while the output weight
    of the second grows.
    """

    T: Annotated[int, Field(description="brackets")]
    forward: Annotated[float, Field(description="second derivative, steps above 0")]
    backward: Annotated[float, Field(description="second derivative, steps below 0")]
    steps: tuple[float, ...]
    losses: Annotated[tuple[float, ...], Field(description="of each step")]


class Language(experiment.Result):
    """Sentences of the largest length, and whether they have the symmetries of the proofs."""

    words: Annotated[str, Field(description="balanced, or Dyck words")]
    sentences: int
    fixed: Annotated[int, Field(description="masked inputs, fixed sign")]
    random: Annotated[int, Field(description="masked inputs, random sign")]
    flips: Annotated[bool, Field(description="closed under change of all signs")]
    swaps: Annotated[bool, Field(description="closed under exchange of positions")]


class Result(experiment.Result):
    """All lengths and solutions."""

    lengths: tuple[Length, ...]
    solutions: Annotated[tuple[Solution, ...], Field(description="those of `examples` at each T")]
    kinks: Annotated[tuple[Kink, ...], Field(description="at each T")]
    memory: Annotated[float, Field(description="trace of a memoriser, multiple of the bound")]
    languages: tuple[Language, ...]

    @property
    def length_table(self) -> pd.DataFrame:
        """A row for each T."""
        return table_of(self.lengths).set_index("T")

    @property
    def overlooked(self) -> pd.Series:
        """Neurons with one positive value that the two cases of the paper's proof miss, by T."""
        table = self.length_table
        return table.single_valued - 1 - 2**table.index

    def of(self, name: str) -> pd.DataFrame:
        """The solutions of that name, a row for each T."""
        table = table_of(self.solutions)
        return table[table.name == name].set_index("T")

    @property
    def farthest_from_bound(self) -> float:
        """Largest |trace / bound − 1| of the solution that counts brackets, over all T."""
        return float((self.of("counting").trace - 1).abs().max())

    @property
    def table(self) -> pd.DataFrame:
        """The four solutions of the smallest example, T = 4."""
        table = table_of(self.solutions)
        names = {
            "trace": "trace / bound",
            "kinked": "inputs on a kink",
            "head_error": "best head's error / variance",
        }
        shown = table[(table["T"] == 4) & (table.name != "B")].set_index("name")
        return shown[list(names)].rename(columns=names).rename_axis("solution")

    @property
    def language_table(self) -> pd.DataFrame:
        """A row for each set of words."""
        names = {"fixed": "masked, fixed sign", "random": "random sign"}
        return table_of(self.languages).rename(columns=names).set_index("words")

    def kink(self, T: int) -> Kink:
        """The line through B′ at one length."""
        return {one.T: one for one in self.kinks}[T]

    @property
    def bend(self) -> float:
        """Forward over backward second derivative at the kinks of B′, the smallest of all T."""
        return min(one.forward / one.backward for one in self.kinks)


def run(plan: Plan) -> Result:
    """Enumerate all inputs, and compute the terms of the bound for neurons in integers.

    Returns neurons with one positive value, and solutions of zero loss, at each length. Cost O(2^T
    N T) for N = 2T C(T, T/2) inputs: 5 s at T = 12.

    Examples
    --------
    >>> from ntpcompanion.experiments.flatness import flattest_neurons
    >>> result = flattest_neurons.run(flattest_neurons.Plan(max_length=6))
    >>> result.overlooked.tolist(), result.of("counting").trace.tolist()
    ([16, 24], [1.0, 1.0])
    """
    longest = plan.lengths[-1]
    memorised = min(MEMORISED, longest)
    masked, targets = sentences.masked_support(memorised, "fixed")
    memory = exact_arithmetic.exact_chain(solutions.memoriser(memorised), masked.sum(1), targets)
    return Result(
        lengths=tuple(_length(T) for T in plan.lengths),
        solutions=tuple(
            _solution(name, T, neurons)
            for T in plan.lengths
            for name, neurons in (examples(T) | {"B": solutions.three_neurons(T, "fixed")}).items()
        ),
        kinks=tuple(_kink(T) for T in plan.lengths),
        memory=float(memory.trace),
        languages=(
            _language("balanced", sentences.balanced_sentences(longest)),
            _language("dyck", sentences.dyck_sentences(longest)),
        ),
    )


def examples(T: int) -> dict[str, Neurons]:
    """Four solutions of zero loss for a mask of random sign, by name."""
    return {
        "counting": solutions.transferable_neurons(T),
        "two values": two_values(T, Fraction(1, 2)),
        "mask as a bias": mask_as_bias(T),
        "B′": solutions.three_neurons(T, "random"),
    }


def _length(T: int) -> Length:
    masked, targets = sentences.masked_support(T, "random")
    rule = exact_arithmetic.sign_rule(solutions.transferable_neurons(T), masked.sum(1), targets)
    neurons = single_valued_neurons(T)
    return Length(
        T=T,
        obeyed=bool(rule.silent_on_the_other_side and rule.none_dead),
        rank_missing=T - 1 - exact_arithmetic.integer_rank(sentences.circulant(T)),
        single_valued=neurons.count,
        smooth=int((~neurons.at_kink).sum()),
    )


def _solution(name: str, T: int, neurons: Neurons) -> Solution:
    masked, targets = sentences.masked_support(T, "fixed" if name == "B" else "random")
    z = masked.sum(1)
    chain = exact_arithmetic.exact_chain(neurons, z, targets)
    return Solution(
        name=name,
        T=T,
        loss=float(chain.loss),
        trace=float(chain.trace),
        two_sided=float(exact_arithmetic.curvature(neurons, z).two_sided),
        kinked=float((neurons.preactivations(z) == 0).any(1).mean()),
        head_error=float(bracket_counting.best_head_error(neurons)),
    )


def _kink(T: int) -> Kink:
    neurons = solutions.three_neurons(T, "random")
    masked, targets = sentences.masked_support(T, "random")
    z, direction = masked.sum(1), np.zeros_like(neurons.directions)
    direction[0, :T] = 1
    head = np.array([0, neurons.denominator, 0])
    sides = one_sided_second_derivatives(neurons, z, direction, head)
    steps, losses = range(-REACH, REACH + 1, 2), []
    for k in steps:  # in integers
        rows, heads = SCALE * neurons.directions + k * direction, SCALE * neurons.numerators
        stepped = Neurons(rows, heads + k * head, SCALE**2 * neurons.denominator)
        losses.append(float(stepped.error(z, targets)))
    return Kink(
        T=T,
        forward=float(sides.forward),
        backward=float(sides.backward),
        steps=tuple(k / SCALE for k in steps),
        losses=tuple(losses),
    )


def _language(words: str, rows: Int[np.ndarray, "C T"]) -> Language:
    masked, _ = sentences.mask_each(rows, "random")
    return Language(
        words=words,
        sentences=len(rows),
        fixed=len(masked) // 2,
        random=len(masked),
        flips=sentences.closed_under_flip(masked.sum(1)),
        swaps=sentences.closed_under_swaps(rows),
    )

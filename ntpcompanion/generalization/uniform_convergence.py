"""Uniform convergence can fail where a classifier generalizes: a bound over a finite set of samples
by enumeration, and a linear problem in closed form (Nagarajan, Kolter 2019).
"""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.special import ndtr

from ntpcompanion.checks import Is, Probability, Shape, Size, checked
from ntpcompanion.validation import as_array, as_integer, as_shaped, check_probabilities

MAX_SAMPLES = 16  # all their subsets are listed
NOISE = 32.0  # expected squared length of the noise of one point
ROUNDING = 1e-12  # of a sum of probabilities


@dataclass(frozen=True, eq=False)
class Sample:
    """Labelled points.

    Fields
    ------
    inputs
        (n, d), a point in each row.
    labels
        (n,), 1 or -1.
    """

    inputs: Float[np.ndarray, "n d"]
    labels: Int[np.ndarray, " n"]


Weights = Annotated[
    ArrayLike,
    Shape("{1+self.dim}"),
    Is(lambda w: np.any(np.asarray(w)), "not be 0: a margin of 0 is neither right nor wrong"),
]


@dataclass(frozen=True)
@checked
class LinearProblem:
    """Points whose first coordinate is a weak signal, 2y / √m, and whose other `dim` coordinates
    are Gaussian noise of variance 32 / dim. ValueError for sizes below 1.

    Fields
    ------
    m
        size of a training sample.
    dim
        D, number of noise coordinates.

    Examples
    --------
    One step of gradient descent fits its sample, errs on few fresh points, and on every point of
    its own sample with the noise reversed.

    >>> import numpy as np
    >>> from ntpcompanion.generalization import LinearProblem
    >>> from ntpcompanion.generalization.uniform_convergence import margins, one_step, reverse_noise
    >>> problem = LinearProblem(m=50, dim=12800)
    >>> sample = problem.draw(np.random.default_rng(0))
    >>> w = one_step(sample)
    >>> [float((margins(w, one) > 0).mean()) for one in (sample, reverse_noise(sample))]
    [1.0, 0.0]
    >>> f"{problem.limit_error:.3f}", abs(problem.test_error(w) - problem.limit_error) < 0.005
    ('0.023', True)
    """

    m: Size
    dim: Size

    @property
    def limit_error(self) -> float:
        """Q(√(D / 64 m)), the test error of one step if the squared length of its noise weights is
        its mean, 32 m.
        """
        return float(ndtr(-((self.dim / (64 * self.m)) ** 0.5)))

    @property
    def margin_deviation(self) -> float:
        """32 √(m / D), the standard deviation of a margin y wᵀx after one step, to leading order.
        Its mean is 4 on fresh points, 36 on the sample and -28 with the noise reversed.
        """
        return float(NOISE * (self.m / self.dim) ** 0.5)

    @checked
    def draw(self, rng: np.random.Generator, count: Size | None = None) -> Sample:
        """Independent points with fair labels: `count` of them, or m.

        Raises ValueError for no generator, or a count below 1.
        """
        count = count or self.m
        labels = rng.choice(np.array([-1, 1]), count)
        noise = rng.standard_normal((count, self.dim)) * (NOISE / self.dim) ** 0.5
        return Sample(np.column_stack([2 * labels / self.m**0.5, noise]), labels)

    @checked
    def test_error(self, w: Weights) -> float:
        """P(y wᵀx ≤ 0) of weights w (1 + D,) on a fresh point, exactly, from the Gaussian
        distribution of the margin. ValueError for another shape, and for weights that are all 0.
        """
        weights = as_array("w", w)
        mean = 2 * weights[0] / self.m**0.5
        deviation = np.linalg.norm(weights[1:]) * (NOISE / self.dim) ** 0.5
        return float(ndtr(-mean / deviation)) if deviation else float(mean < 0)


@checked
def one_step(sample: Sample) -> Float[np.ndarray, " d"]:
    """The weights Σ y x: one step of gradient descent of rate 1 from 0 on the loss −Σ y wᵀx.
    Raises ValueError for what is not a `Sample`.
    """
    return sample.labels @ sample.inputs


@checked
def margins(w: Annotated[ArrayLike, Shape("d")], sample: Sample) -> Float[np.ndarray, " n"]:
    """The margins y wᵀx of a sample: positive where the point is classified right. Raises
    ValueError for what is not a `Sample`, or weights of another length.
    """
    return sample.labels * (sample.inputs @ as_shaped("w", w, sample.inputs.shape[1:]))


@checked
def reverse_noise(sample: Sample) -> Sample:
    """The sample S′ of the linear problem: signal, the first coordinate, and label stay, the noise
    changes its sign, which leaves the distribution as it is. Raises ValueError for what is not a
    `Sample`.
    """
    signs = np.where(np.arange(sample.inputs.shape[1]) == 0, 1, -1)
    return replace(sample, inputs=sample.inputs * signs)


@checked
def tightest_uniform_bound(
    gaps: Annotated[ArrayLike, Shape("n n")],
    probabilities: Annotated[ArrayLike, Shape("n")],
    delta: Probability,
) -> float:
    """The tightest algorithm-dependent uniform convergence bound of a finite problem.

    The bound has to hold for all pairs from a set of samples that has probability at least
    1 - delta: the classifier learned from one of them, judged on another. Which set is the best?

    Parameters
    ----------
    gaps
        (n, n), in row i and column j the distance between the test error of the classifier
        learned from sample i and its error on sample j.
    probabilities
        (n,), of the samples, at most 16 of them.
    delta
        between 0 and 1.

    Returns
    -------
    float
        the smallest, over sets of samples, of the largest gap in their rows and columns. Cost
        O(2ⁿ n²): all sets are listed.

    Raises
    ------
    ValueError
        more than 16 samples, matrices that do not fit, probabilities that do not sum to 1.

    Examples
    --------
    Two samples, equally likely; each classifier fails on the other sample.

    >>> from ntpcompanion.generalization.uniform_convergence import tightest_uniform_bound
    >>> [tightest_uniform_bound([[0, 1], [1, 0]], [0.5, 0.5], delta) for delta in (0.4, 0.6)]
    [1.0, 0.0]
    """
    weights = as_array("probabilities", probabilities)
    check_probabilities("probabilities", weights, weights.sum())
    n = as_integer("len(probabilities)", len(weights), 1, MAX_SAMPLES, "(all sets are listed)")
    table = as_array("gaps", gaps)
    enough = (1 - delta) * weights.sum() - ROUNDING
    sets = (list(chosen) for size in range(1, n + 1) for chosen in combinations(range(n), size))
    likely = (chosen for chosen in sets if weights[chosen].sum() >= enough)
    return float(min(table[np.ix_(chosen, chosen)].max() for chosen in likely))

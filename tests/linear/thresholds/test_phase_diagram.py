import math

import numpy as np
import pytest
from scipy.special import comb

from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.linear.thresholds.phase_diagram import (
    CrossingSample,
    crossing_sample,
    table_of_sizes,
)


def sample(m, *sides):
    return CrossingSample(m, *np.array(sides).T)


def half_space(m):
    """The chance that some half-space of R^d holds m Gaussian points, d = 1 … m (Wendel; Cover for
    points with random signs).
    """
    return np.cumsum([comb(m - 1, k) for k in range(m)]) / 2 ** (m - 1)


def same_support(m, V, size, rng):
    distributions = np.tile(np.arange(V) < size, (m, 1)) / size
    return ContextTable(rng.standard_normal((m, m)), distributions, np.full(m, 1 / m))


@pytest.mark.parametrize(
    "draw",
    [lambda m, rng: table_of_sizes([1] * m, 2, m, rng), lambda m, rng: same_support(m, 6, 3, rng)],
)
def test_where_the_law_is_known_the_shares_follow_it(rng, draw):
    """Two tokens are Cover's problem; one support for all contexts is Wendel's, however many tokens
    there are.
    """
    m, n = 10, 100
    curve = crossing_sample(draw(m, rng) for _ in range(n)).shares(range(1, m + 1))
    chance = half_space(m)
    error = 3.5 * np.sqrt(chance * (1 - chance) / n)
    # on which side an undecided draw is nobody knows: rounding decides whether a table that is
    # nearly on the boundary is proved
    assert (curve.separable - error <= chance).all()
    assert (chance <= curve.separable + curve.undecided + error).all()
    assert curve.undecided.max() <= 2 / n, "such tables are rare"


def test_shares_count_what_is_undecided_on_neither_side():
    curve = sample(10, (3, 4), (3, 4), (4, 5), (2, 7)).shares([2, 3, 4, 6, 7, 10])
    assert curve.separable.tolist() == [0, 0, 0.5, 0.75, 1, 1]
    assert curve.undecided.tolist() == [0, 0.25, 0.25, 0.25, 0, 0]
    assert curve.ratio.tolist() == [0.2, 0.3, 0.4, 0.6, 0.7, 1.0]
    assert curve.dim.tolist() == [2, 3, 4, 6, 7, 10]
    assert sample(10, (3, 4), (3, 5)).undecided == 0.5, (
        "a single dimension between the proofs is enough"
    )


def wilson(share, n):
    """Where the score test with one standard error just accepts: (share − p)² = p (1 − p) / n."""
    return np.sort(np.roots([1 + 1 / n, -2 * share - 1 / n, share**2]))


def test_the_error_bars_are_wilson_intervals_widened_by_the_undecided():
    curve = sample(10, (3, 4), (3, 4), (4, 5), (2, 7)).shares([4])
    assert curve.lowest[0] == pytest.approx(wilson(0.5, 4)[0], abs=1e-4)
    assert curve.highest[0] == pytest.approx(wilson(0.75, 4)[1], abs=1e-4)
    none = sample(10, (3, 4), (3, 4)).shares([1])
    assert (none.lowest[0], none.separable[0]) == (0, 0)
    # p = (1 − p) / 2: no draw out of two is not a proof that there is none
    assert none.highest[0] == pytest.approx(1 / 3, abs=1e-4)


@pytest.mark.parametrize(
    ("sides", "crossing"),
    [
        ([(3, 4), (3, 4)], 3.5),  # the share rises from 0 at d = 3 to 1 at d = 4
        ([(3, 4), (4, 5)], 4.0),
        ([(3, 4), (4, 5), (4, 5), (4, 5)], 4 + 1 / 3),
        ([(3, 4), (3, 4), (3, 4), (2, 7)], 3.5),  # 3⅓ if it began at 3, 3⅔ if at 7
    ],
)
def test_the_crossing_is_where_the_line_through_the_shares_passes_one_half(sides, crossing):
    assert sample(20, *sides).crossing == pytest.approx(crossing / 20, abs=0.001)


def test_an_undecided_draw_moves_the_crossing_half_way_and_widens_its_error():
    decided, undecided = [(k, k + 1) for k in range(2, 10)], [(0, 13)] * 8
    both = sample(12, *decided, *undecided)
    low, high = (sample(12, *decided, *[side] * 8).crossing for side in ((0, 1), (12, 13)))
    assert both.crossing == pytest.approx((low + high) / 2)
    assert both.stderr > (high - low) / 2
    assert both.undecided == 0.5


def test_the_standard_error_is_the_scatter_of_repeated_crossings(rng):
    crossings, errors = [], []
    for _ in range(400):
        low = np.floor(rng.normal(20, 2, 60)).astype(int)
        one = CrossingSample(40, low, low + 1)
        crossings.append(one.crossing)
        errors.append(one.stderr)
    assert np.mean(crossings) == pytest.approx(0.5, abs=4 * np.std(crossings) / 20)
    assert np.mean(errors) == pytest.approx(np.std(crossings), rel=0.15)


def test_draws_that_all_agree_still_have_an_error():
    assert sample(10, *[(3, 4)] * 24).stderr == pytest.approx(math.sqrt(math.pi / 2 / 24 / 12) / 10)


def test_tables_have_the_sizes_asked_for_and_uniform_supports(rng):
    table = table_of_sizes(np.resize([1, 3, 5], 3000), 5, 7, rng)
    assert table.support_sizes.tolist() == [1, 3, 5] * 1000
    assert (table.dim, table.vocab_size) == (7, 5)
    assert table_of_sizes([1, 3], 5, 1, rng).dim == 1
    counts = table.support.toarray()[1::3].sum(axis=0)  # binomial, 1000 draws with chance 3/5
    assert (np.abs(counts - 600) < 4 * math.sqrt(240)).all()
    assert np.allclose(table.next_token.max(axis=1), 1 / table.support_sizes)
    assert abs(table.embeddings.mean()) < 4 / math.sqrt(table.embeddings.size)
    assert table.embeddings.std() == pytest.approx(1, abs=4 / math.sqrt(2 * table.embeddings.size))


def test_a_search_that_is_cut_short_is_undecided_and_counted(rng):
    tables = [table_of_sizes([2] * 12, 6, 12, rng) for _ in range(6)]
    proved, cut = crossing_sample(tables), crossing_sample(tables, max_iterations=1)
    assert (cut.not_separable_to <= proved.not_separable_to).all()
    assert (cut.separable_from >= proved.separable_from).all()
    assert cut.undecided > 0.5
    assert cut.shares(range(1, 13)).undecided.max() >= 0.5


def test_a_table_that_no_dimension_separates_counts_as_beyond_all(rng):
    twins = ContextTable(np.ones((2, 2)), np.eye(2), np.full(2, 0.5))
    found = crossing_sample([twins, twins])
    assert found.separable_from.tolist() == [3, 3]
    assert found.shares([1, 2]).separable.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda rng: table_of_sizes([1, 0], 4, 2, rng),
            r"`support_sizes` must lie in 1 … 4, got .* from 0 to 1\.",
        ),
        (lambda rng: table_of_sizes([], 4, 2, rng), "`support_sizes` must be a vector of integers"),
        (
            lambda rng: table_of_sizes([4, 4], 4, 2, rng),
            r"every context can be followed by every token",
        ),
        (lambda rng: table_of_sizes([1, 1], 4, 0, rng), r"`dim` must be at least 1, got 0"),
        (
            lambda rng: crossing_sample([table_of_sizes([1, 1], 4, 2, rng)]),
            r"`tables` must hold at least 2 tables .*, got 1",
        ),
        (
            lambda rng: crossing_sample([table_of_sizes([1] * m, 4, m, rng) for m in (2, 3)]),
            r"`tables` must all have the same m, and m coordinates; got \(m, d\) = \[\(2, 2\), "
            r"\(3, 3\)\]",
        ),
        (
            lambda rng: crossing_sample([table_of_sizes([1] * 3, 4, 2, rng)] * 2),
            r"`tables` must all .* got \(m, d\) = \[\(3, 2\)\]",
        ),
        (
            lambda rng: sample(10, (3, 4), (3, 4)).shares([0, 1]),
            r"`dims` must lie in 1 … 10, got .* from 0 to 1\.",
        ),
    ],
)
def test_bad_input_is_named(rng, make, message):
    with pytest.raises(ValueError, match=message):
        make(rng)


def test_the_standard_error_joins_the_scatter_of_the_draws_and_what_is_undecided():
    # middles 1.5, 4.5, 5.5, 8.5: squares of distances to 5 sum to 25
    spread = sample(10, (1, 2), (4, 5), (5, 6), (8, 9))
    assert spread.stderr == pytest.approx(math.sqrt(math.pi / 2 / 4 * 25 / 3) / 10)
    # middles 3.5, 3.5, 3.5, 4.5; extremes 3⅓ and 3⅔
    unsure = sample(20, (3, 4), (3, 4), (3, 4), (2, 7))
    assert unsure.stderr == pytest.approx(
        math.hypot(math.sqrt(math.pi / 2 / 4 * 0.25), 1 / 6) / 20, rel=1e-3
    )

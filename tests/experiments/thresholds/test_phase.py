import json

import numpy as np
import pytest

from ntpcompanion.experiments.thresholds.phase import Plan, Result, run
from ntpcompanion.linear.thresholds.phase_diagram import table_of_sizes
from ntpcompanion.randomness import stream
from tests.experiments.cases import check_wrong_fields
from tests.oracles import largest_margin

RIGHT = {"num_contexts": 8, "vocab_size": 4, "support_sizes": [1, 3], "draws": 6, "seed": 0}
WRONG = {"support_sizes": ([5], r"must lie in 1 … 4 \(`vocab_size`\), got \[5\]")}


def test_every_wrong_field_is_named():
    check_wrong_fields(Plan, RIGHT, WRONG)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"support_sizes": [4]},
            r"^`support_sizes` must hold a size below 4 \(`vocab_size`\)",
        ),
        ({"support_sizes": [4, 1], "num_contexts": 1}, "must hold a size below 4"),
    ],
)
def test_sizes_that_make_no_table_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        Plan.from_json(RIGHT | change)


def test_every_draw_lies_where_enumeration_says():
    plan = Plan.from_json(RIGHT)
    expected = []
    for draw in range(6):
        rng = stream(0, f"8 contexts, sizes [1, 3], table {draw}")
        table = table_of_sizes(np.resize([1, 3], 8), 4, 8, rng)
        support = table.support.toarray()
        margins = [largest_margin(table.embeddings[:, :d], support) for d in range(1, 9)]
        expected.append(next(d for d, margin in enumerate(margins, 1) if margin > 1e-7))
    sample = run(plan).sample(8)
    assert sorted(sample.separable_from) == sorted(expected)
    assert (sample.separable_from - sample.not_separable_to == 1).all()
    assert sample.num_contexts == 8
    assert 0.2 < sample.crossing < 0.9


def test_a_result_is_plain_numbers_that_depend_on_the_seed():
    found = run(Plan.from_json(RIGHT))
    assert Result.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found == run(Plan.from_json(RIGHT))
    assert sum(found.draws) == 6
    assert any(run(Plan.from_json(RIGHT | {"seed": seed})) != found for seed in (1, 2, 3))


def test_a_sample_repeats_each_pair_of_sides():
    found = Result(not_separable_to=(3, 4), separable_from=(5, 5), draws=(2, 1)).sample(8)
    assert found.not_separable_to.tolist() == [3, 3, 4]
    assert found.separable_from.tolist() == [5, 5, 5]

from itertools import islice

import pytest

from ntpcompanion.experiments.scale import blocked_rounds
from ntpcompanion.experiments.scale.blocked_rounds import Plan, Result, run
from ntpcompanion.linear.svm.block_ascent import blocked_ascent
from ntpcompanion.linear.svm.next_token_svm import certified_gap
from ntpcompanion.linear.tables.large_tables import planted_table
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

pytestmark = pytest.mark.slow  # a run takes seconds; a notebook makes one at smoke
PLAN = {"tables": 2, "most_rounds": 100, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(blocked_rounds, PLAN)


def test_rounds_end_at_the_gap_or_at_the_most(found):
    table = planted_table(48, 8, 2, 16, stream(0, "blocked 1"))
    path = blocked_ascent(table, blocks=2, local_steps=40)
    before, last = list(islice(path, found.rounds[1][1]))[-2:]
    assert certified_gap(table, before) > 0.1 >= certified_gap(table, last)
    assert list(found.table) == ["1 block", "2 blocks", "4 blocks"]
    assert max(run(Plan.from_json(PLAN | {"most_rounds": 3})).rounds[0]) == 3


def test_the_power_is_that_of_planted_rounds():
    power = Result(rounds=((3, 6, 12), (10, 20, 40))).power
    assert (power.mean, power.replicates) == (pytest.approx(1), 2)

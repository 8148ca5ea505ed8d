import numpy as np
import pytest

from ntpcompanion.experiments.any_text import unreached_entropy
from ntpcompanion.experiments.any_text.unreached_entropy import Plan, pair_table, run
from ntpcompanion.linear import check_separability, implied_table
from tests.experiments.cases import check_result

RIGHT = {"words": 3, "vocab_size": 5, "tables": 3, "log_times": [2.0, 1e6], "seed": 0}


@pytest.fixture(scope="module")
def found():
    return run(Plan.from_json(RIGHT))


@pytest.mark.slow
def test_a_result_is_plain_numbers_that_depend_on_the_seed(found):
    check_result(unreached_entropy, RIGHT, found)


def test_the_tables_are_the_first_that_are_not_separable_and_have_no_minimizer(found):
    plan, chosen = Plan.from_json(RIGHT), []
    for number in range(found.drawn):
        table = pair_table(plan, number)
        if check_separability(table).verdict.name == "NOT_SEPARABLE":
            implied = implied_table(table)
            if not implied.support.mask.all():
                chosen.append((table.entropy, implied.entropy))
    assert [(c.entropy, c.floor) for c in found.courses] == chosen
    assert found.table.holds.all()


def test_an_embedding_is_that_of_both_words(found):
    table = pair_table(Plan.from_json(RIGHT), 0)
    E = table.embeddings
    assert set(E.ravel()) == {0.0, 1.0}
    assert (E[:, :3].sum(axis=1) == 1).all()
    assert (E[:, 3:].sum(axis=1) == 1).all()
    assert len(np.unique(E, axis=0)) == len(E)

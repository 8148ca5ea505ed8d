import pytest

from ntpcompanion.experiments.geometry.geometry_transformer import Plan, Result, read_networks, run
from ntpcompanion.recorded import Run
from tests.experiments.cases import check_wrong_fields

RIGHT = {"num_words": 40, "vocab_size": 8, "context_length": 1, "steps": 60, "seed": 0}
SMALL = {"width": 16, "layers": 1, "heads": 2, "points": 2, "learning_rate": 0.02}


def test_every_wrong_field_is_named():
    check_wrong_fields(Plan, RIGHT, {"heads": (3, r"must divide 64 \(`width`\), got 3")})


@pytest.fixture(scope="module")
def both():
    return {
        pairing: run(Plan.from_json(RIGHT | SMALL | {"steps": 300, "pairing": pairing}))
        for pairing in ("text", "shuffled")
    }


def test_training_lowers_the_excess_and_turns_features_to_the_prediction(both):
    for found in both.values():
        start, *_, end = found.path
        assert (start.step, end.step) == (0, 300)
        assert 0 < end.excess < 0.05 * start.excess
        assert end.angles.contexts.solution > start.angles.contexts.solution + 0.2
        assert Result.from_json(found.to_json()) == found


def test_features_follow_the_pairing_that_was_trained(both):
    """The control could come out the other way: the contexts are the same ones."""
    for found in both.values():
        end = found.path[-1]
        assert end.angles.contexts.solution > end.other_contexts + 0.2


def test_an_equal_plan_gives_equal_numbers(both):
    again = run(Plan.from_json(RIGHT | SMALL | {"steps": 300, "pairing": "shuffled"}))
    assert again == both["shuffled"]


def test_recorded_points_are_rows_those_of_the_text_first(both):
    tasks = [
        Run(Plan.from_json(RIGHT | {"pairing": pairing, "seed": 3}), both[pairing])
        for pairing in ("shuffled", "text")
    ]
    table = read_networks(tasks).table
    assert table.pairs.tolist() == ["text"] * 3 + ["shuffled"] * 3
    assert table.seed.tolist() == [3] * 6
    end, row = both["text"].path[-1], table.iloc[2]
    words = end.angles.words
    assert (row.step, row.excess, row.same) == (300, end.excess, end.angles.same_mean)
    assert (row.contexts, row.other) == (end.angles.contexts.solution, end.other_contexts)
    assert (row.words, row.proxy, row.printed) == (words.solution, words.plain, words.with_diagonal)
    assert row.renamed == end.other_words

from ntpcompanion.experiments.thresholds import least_width
from ntpcompanion.experiments.thresholds.least_width import Plan, contexts_of
from tests.experiments.cases import small_run

RIGHT = {"targets": "markov", "documents": 8, "tokens": 3, "dim": 4, "widths": [1, 4], "steps": 4}
RIGHT |= {"learning_rate": 0.05, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(least_width, RIGHT)


def test_sizes_are_those_of_the_contexts(found):
    table = contexts_of(Plan.from_json(RIGHT))
    assert (found.contexts, found.vocab_size) == table.joint.shape
    assert found.entropy == table.entropy
    assert found.support == (table.joint > 0).sum()
    assert len(found.parameters) == len(found.excess) == 2
    assert found.parameters[0] < found.parameters[1]


def test_random_targets_have_the_contexts_of_the_text():
    text, full = (
        contexts_of(Plan.from_json(RIGHT | {"targets": targets})) for targets in ("text", "random")
    )
    assert (text.tokens == full.tokens).all()
    assert (text.joint > 0).mean() < 0.5 < (full.joint > 0).mean()

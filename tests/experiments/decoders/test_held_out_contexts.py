import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from ntpcompanion.experiments.decoders import held_out_contexts
from ntpcompanion.statistics import mean_effect
from tests.experiments.cases import check_wrong_fields, small_run

RIGHT = {"num_words": 500, "vocab_size": 12, "context_length": 2, "part_words": 200}
RIGHT |= {"parts": 2, "steps": 60, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(held_out_contexts, RIGHT)


def test_every_wrong_field_is_named():
    check_wrong_fields(held_out_contexts.Plan, RIGHT, {"parts": (1, "greater than or equal to 2")})


def test_the_right_pairs_are_those_of_a_library():
    rng = np.random.default_rng(0)
    logits, mask = rng.integers(0, 4, (5, 9)) + 0.0, rng.random((5, 9)) < 0.4
    mask[:, 0], mask[:, 1] = True, False
    areas = [roc_auc_score(row, values) for row, values in zip(mask, logits, strict=True)]
    assert held_out_contexts._right(logits, mask) == pytest.approx(np.mean(areas))


def test_the_best_snapshot_is_no_worse_than_the_last(found):
    assert (found.table.stopped >= found.table.descended).all()
    assert found.table[list(held_out_contexts.WAYS)].to_numpy().min() > 0.2
    differences = [part.svm - part.equal for part in found.parts]
    assert found.more("svm", "equal") == mean_effect(differences)


def test_parts_beyond_the_text_are_named():
    plan = held_out_contexts.Plan.from_json(RIGHT | {"part_words": 300})
    with pytest.raises(ValueError, match="`part_words` must be at most 250"):
        held_out_contexts.run(plan)

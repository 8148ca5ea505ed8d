import torch

from ntpcompanion.experiments.planning import pause_width
from ntpcompanion.experiments.planning.pause_width import Plan, run
from ntpcompanion.planning.pauses import PAUSE
from tests.experiments.cases import small_run

RIGHT = {"width": 4, "layers": 2, "prefix_length": 3, "most_pauses": 3, "sequences": 2, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(pause_width, RIGHT)


def test_pauses_add_vectors_and_rows_of_positions_only(found):
    assert found.rows == 1
    assert found.vectors == tuple((4 + pauses, 4 + pauses) for pauses in range(4))  # with CLS
    assert (found.width_error, found.depth_error, found.positions_per_pause) == (0, 0, 1)
    assert max(found.prefix_error, found.masked_error, found.sum_error) < 1e-12
    assert found.single_error < 1e-5


def test_counts_that_are_not_so_are_seen(found):
    wider = found.model_copy(update={"vectors": ((4, 4), (5, 7)), "positions": (5, 7)})
    assert (wider.width_error, wider.positions_per_pause) == (2, 2)
    assert found.model_copy(update={"vectors": ((4, 4), (5, 5, 5))}).depth_error == 1


def test_a_loss_that_counts_pauses_would_be_seen(monkeypatch):
    def unmasked(logits, tokens):
        targets = tokens[:, 1:].where(tokens[:, 1:] != PAUSE, 0)
        return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten())

    monkeypatch.setattr(pause_width, "pause_masked_loss", unmasked)
    changed = run(Plan.from_json(RIGHT))
    assert min(changed.masked_error, changed.sum_error) > 1e-3

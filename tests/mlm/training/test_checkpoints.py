from dataclasses import replace

import pytest
import torch

from ntpcompanion.mlm.training.checkpoints import identity, load_checkpoint, save_checkpoint
from tests.mlm.cases import MIXED, SHORT, SMALL, TRANSFORMER


def test_what_was_saved_is_read_back(tmp_path):
    file = tmp_path / "new" / "run.pt"
    save_checkpoint(file, {"identity": "a", "step": 3, "model": {"w": torch.tensor([1.5, -2.0])}})
    state = load_checkpoint(file, "a")
    assert state["step"] == 3
    assert state["model"]["w"].tolist() == [1.5, -2.0]
    assert [path.name for path in file.parent.iterdir()] == ["run.pt"]


def test_no_file_is_a_new_run(tmp_path):
    assert load_checkpoint(tmp_path / "run.pt", "a") is None


def test_the_checkpoint_of_another_run_is_refused(tmp_path):
    save_checkpoint(tmp_path / "run.pt", {"identity": "a"})
    with pytest.raises(
        ValueError,
        match=(
            r"run.pt is the checkpoint of another plan or language. Name another folder, or delete "
            r"it"
        ),
    ):
        load_checkpoint(tmp_path / "run.pt", "b")


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"x" * len(data)]
)
def test_a_damaged_checkpoint_is_refused(tmp_path, damage):
    file = tmp_path / "run.pt"
    save_checkpoint(file, {"identity": "a", "model": torch.zeros(1000)})
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(
        ValueError, match=r"run.pt cannot be read as a checkpoint \(\w+\). Delete it to start again"
    ):
        load_checkpoint(file, "a")


def test_a_checkpoint_never_runs_code(tmp_path):
    file = tmp_path / "run.pt"
    torch.save({"identity": "a", "harm": print}, file)
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        load_checkpoint(file, "a")


def test_a_write_that_fails_leaves_the_checkpoint_before(tmp_path):
    file = tmp_path / "run.pt"
    save_checkpoint(file, {"identity": "a", "step": 1})
    with pytest.raises((AttributeError, TypeError)):  # torch pickles: a local function cannot be
        save_checkpoint(file, {"identity": "a", "step": lambda: 2})
    assert load_checkpoint(file, "a")["step"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]


def test_plans_and_languages_are_told_apart():
    language = SMALL.build()
    own = identity(language, TRANSFORMER, SHORT)
    assert own == identity(SMALL.build(), TRANSFORMER, SHORT)
    others = [
        (language, TRANSFORMER, replace(SHORT, seed=1)),
        (language, replace(TRANSFORMER, heads=1), SHORT),
        (MIXED.build(), TRANSFORMER, SHORT),
        (replace(SMALL, seed=1).build(), TRANSFORMER, SHORT),
    ]
    assert own not in {identity(*other) for other in others}

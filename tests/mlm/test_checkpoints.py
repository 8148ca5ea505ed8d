from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ntpcompanion.mlm.checkpoints import digest, identity, load_checkpoint, save_checkpoint
from ntpcompanion.mlm.fingerprint import fingerprint
from ntpcompanion.mlm.train import train
from tests.mlm.cases import MIXED, SHORT, SMALL, TRANSFORMER, generator


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


NEARLY = 1e-13


def moved(table):
    """A little probability from the most likely of each row to the next entry."""
    rows = table.clone()
    first, second = rows.topk(2).indices.unbind(-1)
    rows.scatter_add_(-1, first[..., None], torch.full_like(rows[..., :1], -NEARLY))
    return rows.scatter_add_(-1, second[..., None], torch.full_like(rows[..., :1], NEARLY))


@pytest.mark.parametrize(
    ("language", "name"),
    [
        (SMALL.build(), "initial"),
        (SMALL.build(), "transition"),
        (SMALL.build(), "emission"),
        (MIXED.build(), "root"),
    ],
)
def test_a_language_that_begins_with_the_same_sentences_is_another(language, name, tmp_path):
    other = replace(language, **{name: moved(getattr(language, name))})
    first, second = (each.sample(32, generator()) for each in (language, other))
    assert torch.equal(first, second)
    assert fingerprint(language) != fingerprint(other)
    plan = replace(TRANSFORMER, words=language.vocab_size, positions=4)
    list(train(plan, SHORT, language, checkpoint=(file := tmp_path / "run.pt")))
    assert list(train(plan, SHORT, replace(language), checkpoint=file))
    with pytest.raises(ValueError, match=r"run\.pt is the checkpoint of another plan or language"):
        list(train(plan, SHORT, other, checkpoint=file))


def test_a_fingerprint_depends_on_every_entry_shape_type_and_name():
    module = torch.nn.Linear(2, 1)
    values = [
        torch.zeros(4),
        torch.zeros(2, 2),
        torch.zeros(4, dtype=torch.float64),
        torch.zeros(4, dtype=torch.bfloat16),
        np.zeros(4),
        [torch.zeros(2), torch.zeros(2)],
        [torch.zeros(2), torch.tensor([0.0, 1e-30])],
        {"a": 1},
        {"b": 1},
        {"a": 1.0},
        {"a": "1"},
        [1, [2]],
        [[1], 2],
        module,
        torch.nn.Linear(2, 1),
        SMALL,
        SimpleNamespace(states=2),
    ]
    assert len({fingerprint(value) for value in values}) == len(values)
    assert fingerprint(module) == fingerprint(deepcopy(module))
    with pytest.raises(ValueError, match=r"a function in the language cannot be told from others"):
        fingerprint(SimpleNamespace(draw=lambda: 0))


def test_a_digest_depends_on_every_entry():
    first, second = torch.zeros(3), torch.zeros(3)
    second[2] = 1e-30
    assert digest(first) == digest(first.clone()) != digest(second)
    assert digest(first, second) != digest(second, first)

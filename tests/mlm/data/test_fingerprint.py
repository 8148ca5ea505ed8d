from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ntpcompanion.mlm.data.fingerprint import fingerprint
from ntpcompanion.mlm.training.train import train
from tests.mlm.cases import MIXED, SHORT, SMALL, TRANSFORMER, generator

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

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ntpcompanion.experiments.real_model.model_text import ModelText, load, read_contexts
from tests.languages.opt import TOKENS


def test_contexts_and_successors_are_those_of_a_count_by_hand(model_text):
    plan = ModelText(**model_text)
    data = read_contexts(plan, load(plan).tokenizer)
    words = Path(plan.text).read_text(encoding="utf-8").split()
    half = [TOKENS.index(word) for word in words[60:]]
    seen = Counter(zip(half, half[1:], half[2:], strict=False))
    times = Counter((a, b) for a, b, _ in seen.elements())
    rarest = sorted(times.values(), reverse=True)[plan.contexts - 1]
    contexts = [tuple(context) for context in data.contexts.tolist()]
    assert len(set(contexts)) == plan.contexts
    seen_times = [times[context] for context in contexts]
    assert seen_times == sorted(seen_times, reverse=True)
    assert seen_times[-1] == rarest
    for context, row in zip(contexts, data.counts.tolist(), strict=True):
        assert row == [seen[(*context, token)] for token in data.successors.tolist()]
    assert data.counts.any(axis=0).all()
    table = data.table(np.eye(plan.contexts))
    assert table.weight * data.counts.sum() == pytest.approx(data.counts.sum(axis=1))


def test_successors_are_exchanged_among_contexts_that_may_be(model_text):
    plan = ModelText(**model_text)
    data = read_contexts(plan, load(plan).tokenizer)
    any_other = data.exchange(np.random.default_rng(0))
    same_last = data.exchange(np.random.default_rng(0), same_last=True)
    for counts in (any_other, same_last):
        assert sorted(map(tuple, counts)) == sorted(map(tuple, data.counts))
        assert (counts != data.counts).any()
    for token in np.unique(data.contexts[:, -1]):
        rows = data.contexts[:, -1] == token
        assert sorted(map(tuple, same_last[rows])) == sorted(map(tuple, data.counts[rows]))


def test_the_first_token_is_the_models_or_a_named_one(model_text):
    assert load(ModelText(**model_text)).bos == 2
    assert load(ModelText(**model_text, start="<pad>")).bos == 1
    with pytest.raises(ValueError, match="`start` = '<none>' is not a token of"):
        load(ModelText(**model_text, start="<none>"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"segment": 2}, "`segment` must be below `segments` = 2, got 2"),
        ({"contexts": 200}, r"`contexts` must be at most \d+, the contexts of this part"),
    ],
)
def test_what_the_text_lacks_is_said(model_text, change, words):
    plan = ModelText(**model_text | change)
    with pytest.raises(ValueError, match=words):
        read_contexts(plan, load(plan).tokenizer)


def test_a_model_that_is_not_there_is_named(model_text):
    with pytest.raises(FileNotFoundError, match="`source` = 'no/such' is neither a folder"):
        load(ModelText(**model_text | {"source": "no/such"}))

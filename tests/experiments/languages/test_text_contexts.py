from collections import Counter, defaultdict

import numpy as np
import pytest

from ntpcompanion.experiments.languages import text_contexts
from ntpcompanion.experiments.languages.text_contexts import Plan, read_counts
from tests.experiments.cases import small_run

RIGHT = {"vocab_size": 16, "max_length": 3, "num_sequences": 40, "dim": 3, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(text_contexts, RIGHT)


def entropy(sequences):
    """Of the last token given all before it, in a dictionary (nats)."""
    follow = defaultdict(Counter)
    for *prefix, last in sequences:
        follow[tuple(prefix)][last] += 1
    parts = [n * np.log(sum(each.values()) / n) for each in follow.values() for n in each.values()]
    return sum(parts) / len(sequences), len(follow)


@pytest.fixture(scope="module")
def tokens():
    return read_counts(Plan.from_json(RIGHT))[1].tokens.tolist()


def test_floors_are_those_of_a_dictionary(found, tokens):
    for t, length in enumerate(found.lengths):
        pairs = [tokens[i - t : i + 1] for i in range(3, len(tokens))]  # the same for all t
        floor, contexts = entropy(pairs)
        assert (length.t, length.contexts) == (t, contexts)
        assert length.floor == pytest.approx(floor)
    curve = found.curve
    assert curve["unigram above floor"][2] == pytest.approx(curve["floor (nats)"][[0, 2]] @ [1, -1])
    assert np.isnan(curve["bigram above floor"][0])
    assert found.from_one.t.tolist() == [1, 2, 3]


def test_prefixes_are_those_of_sequences(found, tokens):
    cut = [tokens[4 * i : 4 * i + 4] for i in range(40)]
    circle = tokens + tokens[:3]
    every = [circle[i : i + 4] for i in range(len(tokens))]
    for t in range(4):
        floor, prefixes = entropy([each[: t + 1] for each in cut])
        assert (found.cut[t], found.prefixes[t]) == (pytest.approx(floor), prefixes)
        assert found.windows[t] == pytest.approx(entropy([each[: t + 1] for each in every])[0])
    assert found.sequences == 40
    assert found.by_prefix.shape == (4, 4)
    assert found.example == pytest.approx([0, 0, np.log(2)])


def test_one_table_has_the_loss_of_all_sequences(found):
    assert max(found.loss_gap, found.gradient_gap) < 1e-9
    assert found.rows == sum(found.prefixes[1:])
    assert found.entropy == pytest.approx(sum(found.cut[1:]) / 3)

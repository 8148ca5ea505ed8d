import numpy as np
import pytest

from ntpcompanion.experiments.geometry.text_table import read_table
from ntpcompanion.experiments.thresholds.text_plan import TextPlan


@pytest.fixture
def text(tmp_path):
    def written(content, **shape):
        path = tmp_path / "text.txt"
        path.write_text(content, encoding="utf-8")
        return TextPlan(text=str(path), context_length=1, **shape)

    return written


def test_rows_are_what_follows_each_context(text):
    """a is followed by b, b, c; b by a, a; c by nothing."""
    table = read_table(text("a b a b a c", num_words=6, vocab_size=3))
    rows = {int(row[0]): index for index, row in enumerate(table.contexts)}
    assert len(rows) == 2
    a, b = sorted(rows, key=lambda token: -table.weight[rows[token]])
    assert table.weight[rows[a]] == pytest.approx(3 / 5)
    assert sorted(table.next_token[rows[a]]) == pytest.approx([0, 1 / 3, 2 / 3])
    assert table.next_token[rows[b], a] == 1
    assert table.support.sum(axis=1)[rows[a]] == 2


def test_contexts_that_everything_follows_are_left_out(text):
    """a is followed by a and by b, b by a only."""
    table = read_table(text("a a b a a b", num_words=6, vocab_size=2))
    assert len(table.contexts) == 1
    assert table.weight.tolist() == [1.0]
    assert np.array_equal(table.support.sum(axis=1), [1])


def test_a_text_without_such_contexts_is_refused(text):
    with pytest.raises(ValueError, match="`vocab_size`: all 2 tokens follow every context"):
        read_table(text("a a b b a", num_words=5, vocab_size=2))

import pytest

from ntpcompanion.experiments.thresholds.shuffled_text import Plan, Result, run
from ntpcompanion.linear.thresholds.phase_diagram import table_of_sizes
from ntpcompanion.linear.thresholds.threshold import predicted_threshold
from ntpcompanion.randomness import stream
from tests.oracles import largest_margin


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("a b a c a b b c a a c b a b c c a b a c " * 2, encoding="utf-8")
    return str(path)


def plan(text, num_words):
    return Plan(num_words=num_words, vocab_size=4, context_length=1, seed=0, text=text)


def test_a_shuffled_text_keeps_its_sizes(text):
    found = run(plan(text, 7))  # a is followed by b, c; b by a, b; c by a
    assert found.contexts == 3
    assert found.predicted == pytest.approx(predicted_threshold(4, [2, 2, 1]), abs=1e-14)
    table = table_of_sizes([2, 2, 1], 4, 3, stream(0, "shuffled text"))
    support = table.support.toarray()
    separable = [largest_margin(table.embeddings[:, :d], support) > 1e-7 for d in (1, 2, 3)]
    assert found.separable_from == separable.index(True) + 1 == found.not_separable_to + 1
    assert len(found.text_sha256) == 64
    assert Result.from_json(found.to_json()) == found


def test_a_text_that_is_too_short_is_named(text):
    with pytest.raises(ValueError, match=r"`num_words` must lie in 1 … 40 .*, got 41"):
        run(plan(text, 41))
    with pytest.raises(ValueError, match=r"the text has 2 distinct words"):
        # two words are not too few for `num_words`, but for a vocabulary
        run(plan(text, 2))

import numpy as np
import pytest

from ntpcompanion.experiments.thresholds.text_crossing import (
    Plan,
    Result,
    length_slope,
    lengths_table,
    mean_crossing,
    run,
)
from ntpcompanion.languages.text.words import encode, split_words
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run
from tests.oracles import largest_margin

RIGHT = {"num_words": 350, "vocab_size": 128, "context_length": 2, "seed": 0}


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("a b a c a b b c a a c b a b c c a b a c " * 2, encoding="utf-8")
    return path


def plan(text, num_words=30, vocab_size=4):
    return Plan(
        num_words=num_words, vocab_size=vocab_size, context_length=1, seed=0, text=str(text)
    )


def test_the_crossing_is_that_of_enumeration(text):
    found = run(plan(text))
    tokens = encode(split_words(text.read_text())[:30], 4).tokens
    table = ContextTable.from_tokens(tokens, 4, 1, 3, stream(0, "crossing"))
    separable = [
        largest_margin(table.embeddings[:, :d], table.support.toarray()) > 1e-7 for d in (1, 2, 3)
    ]
    assert found.contexts == 3
    assert found.separable_from == separable.index(True) + 1
    assert found.not_separable_to == found.separable_from - 1
    assert found.mean_support == pytest.approx(table.support_sizes.mean())
    assert Result.from_json(found.to_json()) == found == run(plan(text))


def test_as_many_words_as_the_text_has(text):
    assert run(plan(text, 40)).contexts == 3
    with pytest.raises(ValueError, match=r"`num_words` must lie in 1 … 40 .*, got 41"):
        run(plan(text, 41))
    with pytest.raises(ValueError, match=r"`vocab_size` must lie in"):
        run(plan(text, 2, 9))


def result(separable_from, not_separable_to, contexts=10):
    return Result(
        contexts=contexts,
        separable_from=separable_from,
        not_separable_to=not_separable_to,
        text_sha256="",
        mean_support=2.0,
    )


def test_a_crossing_lies_between_its_two_sides():
    assert (result(4, 3).ratio, result(4, 3).half_width) == (0.35, 0.05)
    assert result(4, 3).decided
    assert (result(6, 3).ratio, result(6, 3).half_width) == pytest.approx((0.45, 0.15))
    assert not result(6, 3).decided
    assert result(None, 10).ratio == 1.05, "beyond all dimensions"


def test_the_error_of_a_mean_joins_scatter_and_what_is_undecided():
    decided, wide = [result(k + 1, k) for k in (3, 4, 5)], [result(k + 3, k) for k in (3, 4, 5)]
    ratio, error = mean_crossing(decided)
    assert ratio == pytest.approx(0.45)
    assert error == pytest.approx(np.hypot(0.1 / np.sqrt(3), 0.05))
    assert mean_crossing(wide) == pytest.approx((0.55, np.hypot(0.1 / np.sqrt(3), 0.15)))
    with pytest.raises(ValueError, match="must hold at least 2 draws to estimate an error, got 1"):
        mean_crossing(decided[:1])


def test_recorded_crossings_are_rows_and_have_a_slope_over_doublings():
    """Texts of 10, 20 and 40 words: 0.1 a doubling with one seed, 0.2 with the other."""
    shape = {"vocab_size": 8, "context_length": 1}
    tasks = [
        Run(
            Plan.from_json(shape | {"num_words": 10 * 2**k, "seed": seed}),
            result(10 + 10 * k * (1 + seed), 9 + 10 * k * (1 + seed), contexts=100),
        )
        for k in (2, 0, 1)
        for seed in (0, 1)
    ]
    slope = length_slope(tasks)
    # the weights of the three texts are −1/2, 0 and 1/2, and each crossing is known to 0.005
    assert (slope.mean, slope.replicates) == (pytest.approx(0.15), 2)
    assert slope.stderr == pytest.approx(np.hypot(0.05, 0.005))
    for some in (tasks[:-1], tasks[::2], tasks[:2]):  # one of them, a seed, two lengths missing
        with pytest.raises(ValueError, match="`tasks` must hold a run of each seed at each number"):
            length_slope(some)
    table = lengths_table(tasks)
    assert table["words"].tolist() == [10, 20, 40]
    assert table["d/m"].tolist() == pytest.approx([0.095, 0.245, 0.395])
    assert table["error"][0] == pytest.approx(0.005)

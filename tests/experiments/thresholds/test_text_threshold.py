import pytest

from ntpcompanion.experiments.thresholds.text_threshold import Plan, Result, run

RIGHT = {"num_words": 350, "vocab_size": 128, "context_length": 2, "num_tokens": 8, "draws": 100}
RIGHT |= {"iterations": 5, "seed": 0}


@pytest.fixture
def found(tmp_path):
    path = tmp_path / "text.txt"
    # a is followed by b and by c, b by a, c by a
    path.write_text("a b a c " * 6, encoding="utf-8")
    words = {"num_words": 24, "vocab_size": 4, "context_length": 1, "text": str(path)}
    return run(Plan(**words, num_tokens=2, draws=50, iterations=3, seed=0))


def test_two_successors_of_a_small_text(found):
    """f_a = 2/3, and f_b = f_c = 1/3: the bound is one half, of three contexts."""
    assert found.contexts == 3
    assert found.two_tokens == pytest.approx(0.5)
    assert found.fraction == pytest.approx(1.0)
    assert found.saddle == pytest.approx(0.5)
    assert found.predicted == max(found.saddle, found.two_tokens)
    assert Result.from_json(found.to_json()) == found

from itertools import pairwise

import numpy as np
import pytest

from ntpcompanion.experiments.decoders import word_directions
from tests.experiments.cases import check_wrong_fields, small_run

TEXT = "the cat sat the dog sat a cat ran a dog ran the cat ran the dog ran " * 2
RIGHT = {"num_words": 200, "vocab_size": 12, "context_length": 2, "dim": 150, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(word_directions, RIGHT)


def test_every_wrong_field_is_named():
    check_wrong_fields(word_directions.Plan, RIGHT, {"dim": (0, "greater than or equal to 1")})


def test_overlaps_are_those_of_sets(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text(TEXT)
    sizes = RIGHT | {"num_words": 36, "vocab_size": 7, "context_length": 1, "dim": 9}
    result = word_directions.run(word_directions.Plan.from_json(sizes | {"text": str(file)}))
    words = TEXT.split()
    before = {word: {a for a, b in pairwise(words) if b == word}
              for word in result.words}  # fmt: skip
    before["<unk>"] = set()
    pairs = zip(*np.triu_indices(7, 1), strict=True)
    sets = [(before[result.words[i]], before[result.words[j]]) for i, j in pairs]
    expected = [len(a & b) / max(len(a) * len(b), 1) ** 0.5 for a, b in sets]
    assert result.overlap == pytest.approx(expected)
    closest = result.closest(3)
    assert {frozenset(pair) for pair in zip(closest["first"], closest["second"], strict=True)} == {
        frozenset({"cat", "dog"}),
        frozenset({"sat", "ran"}),
        frozenset({"a", "the"}),
    }
    assert closest[["overlap", "cosine"]].to_numpy() == pytest.approx(np.ones((3, 2)))


def test_the_rank_correlation_is_that_of_another_library(found):
    ranks = found.table[["overlap", "cosine"]].corr(method="spearman")
    assert found.rank == pytest.approx(ranks.loc["overlap", "cosine"])
    assert found.closest(2).index.tolist() == np.argsort(found.cosine)[::-1][:2].tolist()
    assert found.gap < 1e-9


def test_a_text_that_is_not_separable_is_named():
    plan = word_directions.Plan.from_json(RIGHT | {"dim": 4})
    with pytest.raises(ValueError, match=r"`dim` = 4 is too few for the .* contexts of the text"):
        word_directions.run(plan)

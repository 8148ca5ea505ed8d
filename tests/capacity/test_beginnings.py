from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest

from ntpcompanion.capacity import (
    Beginnings,
    markov_documents,
    paragraph_documents,
    tabulate_beginnings,
)

DOCUMENTS = np.array([[7, 3, 7, 9], [7, 3, 9, 9], [3, 3, 7, 7], [7, 3, 7, 3]])


def test_contexts_are_those_of_a_dictionary():
    found = tabulate_beginnings(DOCUMENTS)
    number = {3: 0, 7: 1, 9: 2}
    after = defaultdict(Counter)
    for row in DOCUMENTS:
        for t in range(1, 4):
            after[tuple(number[z] for z in row[:t])][number[row[t]]] += 1
    assert found.num_contexts == len(after)
    for document, length, joint in zip(found.document, found.length, found.joint, strict=True):
        following = after[tuple(found.tokens[document, :length].tolist())]
        assert {z: 12 * joint[z] for z in np.flatnonzero(joint)} == pytest.approx(following)


def test_the_entropy_is_that_of_the_definition():
    found = tabulate_beginnings(DOCUMENTS)
    entropy = 0.0
    for row in found.joint:
        for joint in row[row > 0]:
            entropy -= joint * np.log(joint / row.sum())
    assert found.entropy == pytest.approx(entropy, abs=1e-14)


def test_random_targets_keep_contexts_and_their_frequencies():
    text = tabulate_beginnings(DOCUMENTS)
    found = text.with_random_targets(np.random.default_rng(0))
    assert isinstance(found, Beginnings)
    assert found.joint.min() > 0
    np.testing.assert_allclose(found.joint.sum(1), text.joint.sum(1), atol=1e-15)


def test_paragraphs_are_long_ones_without_repetition():
    content = "one two three four\n\nfive\n\none six two\n\nthree three three"
    found = paragraph_documents(content, 3, 3, np.random.default_rng(0))
    assert sorted(map(tuple, found)) == sorted([(0, 3, 2), (0, 1, 3), (2, 2, 2)])


def test_a_markov_chain_follows_its_successors():
    found = markov_documents(500, 5, 12, 2, np.random.default_rng(0))
    after = defaultdict(set)
    for row in found:
        for now, following in pairwise(row):
            after[now].add(following)
    assert max(map(len, after.values())) == 2
    assert found.min() >= 0
    assert found.max() < 12
    first = np.bincount(found[:, 0], minlength=12) / 500
    zipf = 1 / np.arange(1, 13)
    np.testing.assert_allclose(first, zipf / zipf.sum(), atol=0.08)


@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"`documents` must have at least two columns, got"):
        tabulate_beginnings(np.zeros((3, 1), dtype=int))
    with pytest.raises(ValueError, match=r"`documents` must be an array of integers"):
        tabulate_beginnings(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"`num_documents` must lie in 1 … 1.*got 2"):
        paragraph_documents("one two\n\nthree", 2, 2, rng)
    with pytest.raises(ValueError, match=r"`successors` must be at most `num_states` = 4, got 5"):
        markov_documents(3, 3, 4, 5, rng)

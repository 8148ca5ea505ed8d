import itertools
from math import comb

import numpy as np
import pytest

from ntpcompanion.dyck.sentences import (
    balanced_sentences,
    circulant,
    closed_under_flip,
    closed_under_swaps,
    downstream_strings,
    dyck_sentences,
    mask_each,
    masked_support,
)
from tests.dyck.cases import SIGNS


@pytest.mark.parametrize("T", [2, 4, 6, 8])
def test_balanced_sentences_are_all_strings_with_equal_counts(T):
    expected = {s for s in itertools.product((1, -1), repeat=T) if sum(s) == 0}
    sentences = balanced_sentences(T)
    assert len(sentences) == len(expected)
    assert {tuple(row) for row in sentences.tolist()} == expected


@pytest.mark.parametrize("T", [2, 4, 6, 8])
def test_counts_are_binomials(T):
    """Twice as many inputs if the mask has two signs; none of them twice."""
    for sign, factor in zip(SIGNS, (2, 1), strict=True):
        inputs, targets = masked_support(T, sign)
        assert inputs.shape == (factor * T * comb(T, T // 2), T, 2 * T)
        assert len({row.tobytes() for row in inputs.sum(1)}) == len(inputs)
        assert targets.sum() == 0


@pytest.mark.parametrize("sign", SIGNS)
def test_a_masked_input_hides_one_bracket_of_a_sentence(sign):
    """By the definition, sentence by sentence and position by position."""
    T, expected = 4, set()
    for sentence in itertools.product((1, -1), repeat=T):
        if sum(sentence):
            continue
        for t, value in itertools.product(range(T), (1, -1) if sign == "random" else (1,)):
            rows = np.zeros((T, 2 * T), dtype=int)
            for tau in range(T):
                rows[tau, T + tau if tau == t else tau] = value if tau == t else sentence[tau]
            expected.add((tuple(rows.ravel().tolist()), -sentence[t]))
    inputs, targets = masked_support(T, sign)
    assert {
        (tuple(x.ravel().tolist()), y) for x, y in zip(inputs, targets.tolist(), strict=True)
    } == expected


def test_downstream_strings_are_all_of_them_with_variance_T():
    for T in (2, 4, 6):
        inputs, targets = downstream_strings(T)
        assert {tuple(row) for row in inputs.sum(1)[:, :T].tolist()} == set(
            itertools.product((1, -1), repeat=T)
        )
        assert not inputs[:, :, T:].any()
        assert (targets == inputs.sum((1, 2))).all()
        assert (targets.sum(), (targets**2).mean()) == (0, T)


@pytest.mark.parametrize(("T", "masked"), [(4, 16), (6, 60), (8, 224)])
def test_true_dyck_words_are_not_closed_under_what_the_proofs_do(T, masked):
    """Catalan many, by brackets that match; the balanced sentences are closed under both."""
    words = dyck_sentences(T)
    assert len(words) == comb(T, T // 2) // (T // 2 + 1)
    for row in words.tolist():
        text = "".join("[" if s == 1 else "]" for s in row)
        while "[]" in text:
            text = text.replace("[]", "")
        assert not text
    assert len(mask_each(words, "random")[0]) == masked
    assert not closed_under_flip(words)
    assert not closed_under_swaps(words)
    assert closed_under_flip(balanced_sentences(T))
    assert closed_under_swaps(balanced_sentences(T))


def test_only_the_random_mask_sign_makes_the_support_symmetric():
    assert closed_under_flip(masked_support(6, "random")[0].sum(1))
    assert not closed_under_flip(masked_support(6, "fixed")[0].sum(1))


def test_the_circulant_of_four_brackets():
    assert circulant(4).tolist() == [[1, 1, -1], [-1, 1, 1], [1, -1, 1]]
    assert circulant(2).tolist() == [[1]]

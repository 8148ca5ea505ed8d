"""The numbers of the page of exercises, computed by the package or by enumeration."""

import itertools
import math

import numpy as np
import pytest
import torch

from ntpcompanion.flatness import toy_models
from ntpcompanion.geometry import solve_nuclear_svm
from ntpcompanion.linear import ContextTable, check_separability, solve_ntp_svm
from ntpcompanion.planning import cheat_loss
from tests.copies import ROOT

PAGE = (ROOT / "book" / "exercises.md").read_text(encoding="utf-8")


def stands(number: float, digits: int) -> bool:
    """Whether the page says this number, rounded so."""
    return f"{number:.{digits}f}" in PAGE


def test_the_entropy_of_the_short_text():
    tokens = np.array([0, 1, 0, 2, 0, 1])
    table = ContextTable.from_tokens(tokens, 3, 1, 3, np.random.default_rng(0))
    assert stands(table.entropy, 4)
    assert sorted(table.weight.tolist()) == pytest.approx([0.2, 0.2, 0.6])


@pytest.mark.parametrize(
    ("h", "separable"), [((2.0, -3.0), True), ((1.0, 4.0), False), ((-1.0, 2.0), True)]
)
def test_two_numbers_separate_two_words_where_their_signs_differ(h, separable):
    table = ContextTable(np.array(h)[:, None], np.eye(2), np.array([0.5, 0.5]))
    assert (check_separability(table).verdict.name == "SEPARABLE") == separable


def test_the_svm_by_hand():
    table = ContextTable(np.ones((1, 1)), np.array([[0.5, 0.5, 0.0]]), np.ones(1))
    found = solve_ntp_svm(table).weights.ravel()
    assert found == pytest.approx([1 / 3, 1 / 3, -2 / 3], abs=1e-6)
    assert found @ found == pytest.approx(2 / 3)


@pytest.mark.parametrize("d", [1, 3, 6])
def test_half_of_the_dichotomies_are_cut_at_twice_as_many_points(d):
    assert 2 * sum(math.comb(2 * d - 1, k) for k in range(d)) == 2 ** (2 * d - 1)


def test_the_flow_of_two_words():
    r, t, step = 0.0, 0.0, 1e-4
    while t < 3:
        half = r + step / (1 + math.exp(r))
        r, t = r + 2 * step / (1 + math.exp(half)), t + step
    assert r + math.exp(r) == pytest.approx(2 * t + 1, rel=1e-7)


@pytest.mark.parametrize("label", [0, 1])
def test_a_step_of_sgd_shrinks_the_imbalance(label):
    a, b, eta = 1.4, 0.3, 0.2
    g = 1 / (1 + math.exp(-a * b)) - label
    theta = torch.tensor([[a, b], [a - eta * g * b, b - eta * g * a]], dtype=torch.float64)
    before, after = toy_models.imbalance(theta).tolist()
    assert after == pytest.approx(before * (1 - eta**2 * g**2), rel=1e-14)


def test_eight_strings_of_six():
    sums = [sum(string) for string in itertools.product((-1, 1), repeat=6)]
    chance = {sign: np.mean(np.sign(sums) == sign) for sign in (-1, 0, 1)}
    lacks = (1 - chance[1]) ** 8 + (1 - chance[-1]) ** 8 - chance[0] ** 8
    assert stands(1 - lacks, 3)


def test_the_cosine_of_a_word_and_a_context():
    support = np.array(
        [np.isin(range(6), chosen) for chosen in itertools.combinations(range(6), 3)]
    )
    logits = solve_nuclear_svm(support).logits
    left, sizes, right = np.linalg.svd(logits, full_matrices=False)
    contexts, words = left * np.sqrt(sizes), right.T * np.sqrt(sizes)
    cosines = (contexts @ words.T) / np.outer(
        np.linalg.norm(contexts, axis=1), np.linalg.norm(words, axis=1)
    )
    assert np.allclose(cosines[support], 1 / math.sqrt(5), atol=1e-6)
    assert stands(1 / math.sqrt(5), 4)


def test_the_cost_of_the_cheat():
    assert stands(cheat_loss(3, 5), 4)

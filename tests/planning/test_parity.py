import math
from fractions import Fraction

import pytest
import torch

from ntpcompanion.planning.parity import ASK, WORDS, parity_questions
from tests.threads import one_thread  # noqa: F401 (a fixture of all tests here)


@pytest.mark.parametrize("bits", [1, 3, 6])
def test_every_string_is_asked_once_and_answered_by_counting(bits):
    questions = parity_questions(bits)
    strings = {tuple(row) for row in questions.prefixes.tolist()}
    assert len(strings) == len(questions.prefixes) == 2**bits
    for row, answer in zip(questions.prefixes.tolist(), questions.answers.tolist(), strict=True):
        assert row[-1] == ASK
        assert set(row[:-1]) <= {0, 1}
        assert answer == row.count(1) % 2


def test_every_number_of_ones_is_equally_likely():
    questions = parity_questions(5)
    ones = questions.prefixes[:, :-1].sum(dim=1)
    for count in range(6):
        weights = questions.weights[ones == count].tolist()
        assert weights == pytest.approx([1 / 6 / math.comb(5, count)] * math.comb(5, count))


def test_accuracy_and_loss_are_expectations():
    questions = parity_questions(6)
    always_even = torch.tensor([1.0, 0, 0]).expand(64, -1)
    assert questions.accuracy(always_even) == pytest.approx(float(Fraction(4, 7)))
    answers = torch.nn.functional.one_hot(questions.answers, WORDS).double()
    assert questions.accuracy(answers) == pytest.approx(1)
    assert questions.accuracy(answers) <= 1
    assert questions.loss(torch.zeros(64, WORDS)).item() == pytest.approx(math.log(3))
    wanted = -math.log(math.exp(2) / (math.exp(2) + 2))
    assert questions.loss(2 * answers).item() == pytest.approx(wanted)

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from ntpcompanion.languages.language import exact_entropy_floor
from ntpcompanion.mlm.data.masked_sentences import MaskedBatch, batch_generator, draw_batch
from ntpcompanion.mlm.data.special_tokens import MASK
from ntpcompanion.mlm.evaluation.evaluate import (
    Evaluation,
    TestSet,
    draw_test_set,
    drawn_and_expected_losses,
    evaluate,
)
from ntpcompanion.networks.build_network import build_model
from tests.mlm.cases import MIXED, SMALL, TRANSFORMER


class Exact(nn.Module):
    """The model whose logits are the logarithms of the true conditionals, up to a constant in each
    row.
    """

    def __init__(self, language):
        super().__init__()
        self.language = language

    def forward(self, tokens, at):
        filled = tokens.clone()
        laws = torch.zeros(len(tokens), self.language.vocab_size, dtype=torch.float64)
        for row, place in enumerate(at[:, 0].tolist()):
            for word in range(self.language.vocab_size):
                filled[row, place] = word
                laws[row, word] = self.language.log_prob(filled[row : row + 1])[0]
        return laws[:, None]


@pytest.mark.parametrize("plan", [SMALL, MIXED])
def test_the_true_conditionals_have_no_divergence(plan):
    language = plan.build()
    measured = evaluate(Exact(language), draw_test_set(language, 40, plan.length, 0))
    assert measured.kl == pytest.approx(0, abs=1e-14)
    assert measured.loss == pytest.approx(measured.entropy, abs=1e-14)
    assert measured.saturated


def test_the_entropy_of_a_test_set_is_the_floor():
    language = SMALL.build()
    test = draw_test_set(language, 20_000, 4, 0)
    entropies = torch.special.entr(test.conditional).sum(1)
    measured = evaluate(build_model(TRANSFORMER, 0), test)
    assert measured.entropy == pytest.approx(float(entropies.mean()))
    assert measured.entropy == pytest.approx(
        exact_entropy_floor(language, [4]).per_sentence,
        abs=5 * float(entropies.std()) / 20_000**0.5,
    )


def test_the_divergence_is_the_sum_over_words():
    model, language = build_model(TRANSFORMER, 1), SMALL.build()
    test = draw_test_set(language, 53, 4, 2)
    measured = evaluate(model, test, batch=7)
    q = model(test.tokens, test.positions)[:, 0].detach().double().softmax(1).numpy()
    p = test.conditional.numpy()
    each = [
        sum(a * math.log(a / b) for a, b in zip(*rows, strict=True) if a > 0)
        for rows in zip(p, q, strict=True)
    ]
    assert measured.kl == pytest.approx(np.mean(each), rel=1e-6)
    subsets = [np.mean(each[first : first + 11]) for first in range(0, 53, 11)]
    assert measured.kl_stderr == pytest.approx(np.std(subsets, ddof=1) / 5**0.5, rel=1e-5)
    assert measured.log_kl == pytest.approx(math.log(measured.kl))
    assert measured.loss == measured.entropy + measured.kl


def test_a_test_set_masks_one_word_and_knows_its_law():
    language = MIXED.build()
    test = draw_test_set(language, 30, 5, 0, batch=8)
    assert (test.tokens == MASK).sum(1).tolist() == [1] * 30
    assert (test.tokens.gather(1, test.positions) == MASK).all()
    exact = Exact(language)(test.tokens, test.positions)[:, 0].softmax(1)
    assert torch.allclose(test.conditional, exact, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("kl", "stderr", "verdict"), [(0.0079, 0.001, True), (0.0081, 0.001, False), (0.02, 0.0, False)]
)
def test_saturation_counts_two_standard_errors(kl, stderr, verdict):
    assert Evaluation(1.0, kl, stderr).saturated is verdict


def test_what_cannot_be_evaluated_is_refused():
    language = SMALL.build()
    model = build_model(TRANSFORMER, 0)
    with torch.no_grad():
        model.bias[0] = float("nan")
    with pytest.raises(
        ValueError, match="gives a logit that is not finite to a word that can occur"
    ):
        evaluate(model, draw_test_set(language, 20, 4, 0))


def test_words_that_cannot_occur_may_have_logit_minus_infinity():
    test = TestSet(
        torch.tensor([[MASK]] * 5),
        torch.zeros(5, 1, dtype=torch.int64),
        torch.tensor([[0.25, 0.75, 0.0]] * 5).double(),
    )

    class Fixed(nn.Module):
        def forward(self, tokens, at):
            return torch.tensor([0.0, 0.0, -torch.inf]).expand(len(tokens), 1, 3)

    assert evaluate(Fixed(), test).kl == pytest.approx(
        math.log(2) + 0.25 * math.log(0.25) + 0.75 * math.log(0.75)
    )


def test_the_expected_loss_is_that_over_the_hidden_word():
    language, model = SMALL.build(), build_model(TRANSFORMER, 0).double()
    batch = draw_batch(language, 10, 4, 0.0, batch_generator(0, "evaluation", 0))
    drawn, expected = drawn_and_expected_losses(model, language, batch)
    measured = evaluate(model, draw_test_set(language, 10, 4, 0))  # the same sentences
    assert float(expected.mean()) == pytest.approx(measured.loss, abs=1e-12)
    laws = Exact(language)(batch.tokens, batch.positions)[:, 0].softmax(1)
    for row, law in enumerate(laws):
        mean = 0.0
        for word in law.nonzero()[:, 0].tolist():
            own = MaskedBatch(*(x[row : row + 1] for x in vars(batch).values()))
            own = replace(own, targets=torch.tensor([[word]]))
            mean += float(law[word] * drawn_and_expected_losses(model, language, own)[0])
        assert float(expected[row]) == pytest.approx(mean, abs=1e-12)
        hidden = replace(own, targets=batch.targets[row : row + 1])
        one = drawn_and_expected_losses(model, language, hidden)[0]
        assert float(drawn[row]) == pytest.approx(float(one), abs=1e-12)


def test_several_masks_have_no_expected_loss():
    batch = draw_batch(SMALL.build(), 5, 4, 0.5, batch_generator(0, "evaluation", 0))
    with pytest.raises(
        ValueError, match=r"`batch` must have one mask a sentence, got .* Draw it with"
    ):
        drawn_and_expected_losses(build_model(TRANSFORMER, 0), SMALL.build(), batch)

import pytest
import torch

from ntpcompanion.mlm.data.language_plans import HMMPlan
from ntpcompanion.mlm.data.task_accuracy import (
    accuracy_of,
    bayes_accuracy,
    posterior_accuracy,
)
from tests.mlm.cases import generator


def test_no_guess_is_better_than_the_posterior():
    language = HMMPlan(3, 6, 4).build()
    tokens, states = language.sample_with_states(20_000, generator())
    posterior = language.latent_posterior(tokens)[:, 1]
    bound = bayes_accuracy(posterior)
    assert 0.5 < bound.value <= 1
    best = accuracy_of(posterior.argmax(1) == states[:, 1])
    assert abs(best.value - bound.value) < 5 * (best.stderr**2 + bound.stderr**2) ** 0.5
    from_one_word = language.emission.T[tokens[:, 1]].argmax(1)
    assert accuracy_of(from_one_word == states[:, 1]).value <= bound.value + 5 * best.stderr


def test_a_posterior_by_hand():
    measured = bayes_accuracy(torch.tensor([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]]))
    assert (measured.value, measured.stderr) == (0.75, pytest.approx(0.25 / 2**0.5))


@pytest.mark.parametrize(
    ("posterior", "words"),
    [
        (torch.zeros(0, 3), "must have a row for each sentence, got none"),
        (torch.tensor([[0.5, -0.5]]), "must hold probabilities. Give"),
        (torch.tensor([[float("nan"), 0.5]]), "must hold probabilities. Give"),
        (torch.tensor([[0.5, 0.4]]), "row 0 sums to 0.9"),
    ],
)
def test_what_is_no_posterior_is_refused(posterior, words):
    with pytest.raises(ValueError, match=f"`posterior` must .*{words}|`posterior` {words}"):
        bayes_accuracy(posterior)


def test_the_accuracy_of_guesses_is_their_mean_posterior():
    posterior = torch.tensor([[0.5, 0.5], [0.2, 0.8], [1.0, 0.0], [0.9, 0.1]], dtype=torch.float64)
    found = posterior_accuracy(posterior, torch.tensor([0, 1, 1, 0]))
    assert found.value == pytest.approx((0.5 + 0.8 + 0.0 + 0.9) / 4)
    assert posterior_accuracy(posterior, posterior.argmax(1)) == bayes_accuracy(posterior)


@pytest.mark.parametrize("guesses", [[0], [0, 2]])
@pytest.mark.usefixtures("unchecked_shapes")
def test_guesses_that_do_not_fit_are_refused(guesses):
    with pytest.raises(ValueError, match="`guesses`"):
        posterior_accuracy(torch.tensor([[0.5, 0.5], [0.2, 0.8]]), torch.tensor(guesses))

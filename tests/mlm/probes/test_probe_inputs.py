import pytest
import torch

from ntpcompanion.mlm.data.labelled_examples import posterior_accuracy
from ntpcompanion.mlm.probes.probe_inputs import (
    accuracy_by_posterior,
    check_features,
    check_labels,
)
from tests.mlm.cases import generator

POSTERIOR = torch.rand(7, 3, generator=generator(), dtype=torch.float64)
POSTERIOR /= POSTERIOR.sum(1, keepdim=True)


def test_the_accuracy_of_each_model_is_that_of_its_guesses():
    logits = torch.randn(4, 7, 3, generator=generator(1))
    expected = [posterior_accuracy(POSTERIOR, own.argmax(1)).value for own in logits]
    found = accuracy_by_posterior(logits, POSTERIOR)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_features_of_different_models_are_refused():
    rows = torch.zeros(2, 5, 3)
    check_features(rows, torch.zeros(2, 9, 3))
    for other in (torch.zeros(3, 5, 3), torch.zeros(2, 5, 4)):
        with pytest.raises(ValueError, match="`train` and `test` must be features"):
            check_features(rows, other)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "`labels` must have shape"),
        ([0, 1, 3], "`labels` must be classes 0 … 2, the columns of `posterior`, got 0 … 3"),
        ([1, 1, 1], "`labels` are all 1: there is nothing to learn"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, message):
    check_labels(torch.tensor([0, 1, 2]), 3, POSTERIOR, 7)
    with pytest.raises(ValueError, match=message):
        check_labels(torch.tensor(labels), 3, POSTERIOR, 7)

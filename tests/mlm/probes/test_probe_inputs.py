import torch

from ntpcompanion.mlm.data.task_accuracy import posterior_accuracy
from ntpcompanion.mlm.probes.probe_inputs import accuracy_by_posterior
from tests.mlm.cases import generator

POSTERIOR = torch.rand(7, 3, generator=generator(), dtype=torch.float64)
POSTERIOR /= POSTERIOR.sum(1, keepdim=True)


def test_the_accuracy_of_each_model_is_that_of_its_guesses():
    logits = torch.randn(4, 7, 3, generator=generator(1))
    expected = [posterior_accuracy(POSTERIOR, own.argmax(1)).value for own in logits]
    found = accuracy_by_posterior(logits, POSTERIOR)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))

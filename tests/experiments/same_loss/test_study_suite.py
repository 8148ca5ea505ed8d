import pytest
import torch

from ntpcompanion.experiments.same_loss.study_suite import SuitePlan, draw_study_suite
from ntpcompanion.mlm.probes.converged_probe import ConvergedProbe
from tests.mlm.cases import MIXED, SMALL

PLAN = SuitePlan((1, 2), (60, 40), 100, 16, 2, ConvergedProbe(4, 2, 10, 2, ridges=(0.1,)))
CPU = torch.device("cpu")


@pytest.mark.parametrize("language", [SMALL, MIXED], ids=["hmm", "pcfg"])
def test_posteriors_are_distributions_of_the_labels(language):
    suite = draw_study_suite(language.build(), 4, PLAN, 0, CPU)
    for task in suite.tasks.values():
        posterior = task.test_posterior
        assert posterior.shape == (40, task.test.classes)
        torch.testing.assert_close(posterior.sum(1), torch.ones(40, dtype=torch.float64))
        assert (posterior.gather(1, task.test.labels[:, None]) > 0).all()


def test_a_seed_decides_what_is_drawn():
    first, again, other = (draw_study_suite(SMALL.build(), 4, PLAN, s, CPU) for s in (0, 0, 1))
    assert torch.equal(first.test.tokens, again.test.tokens)
    assert torch.equal(first.uniforms, again.uniforms)
    assert not torch.equal(first.tasks[1].train.inputs, other.tasks[1].train.inputs)
    assert first.uniforms.shape == (16, 2)


def test_more_inputs_than_sentences_are_refused():
    with pytest.raises(ValueError, match="`inputs` must be at most the 100 `sentences`, got 101"):
        SuitePlan((1,), (60, 40), 100, 101)

import torch

from ntpcompanion.experiments.same_loss.study_probes import (
    masked_features,
    study_references,
    task_accuracies,
    token_features,
)
from ntpcompanion.experiments.same_loss.study_suite import SuitePlan, draw_study_suite
from ntpcompanion.mlm.probes.converged_probe import ConvergedProbe
from ntpcompanion.mlm.probes.probe_plan import ProbePlan
from ntpcompanion.networks.stack import initial_stack
from tests.mlm.cases import SMALL, TRANSFORMER

SHORT = ProbePlan(epochs=2, batch_size=20)
PLAN = SuitePlan(
    (1, 2), (60, 40), 100, 16, 1, ConvergedProbe(4, 2, 10, 2, ridges=(0.1,)), SHORT, SHORT
)
SUITE = draw_study_suite(SMALL.build(), 4, PLAN, 0, torch.device("cpu"))
STACK = initial_stack(TRANSFORMER, [0, 1], deviation=0.3)
TOKENS = SUITE.tasks[1].test.inputs


def test_token_features_are_those_of_each_model():
    found = token_features(STACK, TOKENS)
    for row in range(2):
        vectors = STACK.model(row).features(TOKENS)[:, -4:]
        torch.testing.assert_close(found[row], vectors.flatten(1))


def test_a_masked_feature_does_not_see_the_word_of_its_position():
    found = masked_features(STACK, TOKENS).unflatten(-1, (4, 8))
    other = TOKENS.clone()
    other[:, 2] = (other[:, 2] + 1) % 6
    moved = masked_features(STACK, other).unflatten(-1, (4, 8))
    assert torch.equal(found[:, :, 2], moved[:, :, 2])
    assert not torch.allclose(found[:, :, 1], moved[:, :, 1])


def test_the_protocols_of_the_paper_are_those_of_the_first_task():
    for position, protocols, measured in ((1, True, True), (1, False, False), (2, True, False)):
        for found in task_accuracies(STACK, position, SUITE, protocols=protocols):
            assert (found.heads is not None) == measured
            assert (found.tuned is not None) == (found.halfway is not None) == measured
            assert found.masked is not None
            assert found.gradient_norm <= PLAN.probe.tolerance


def test_the_lookup_table_and_the_words_have_probes_of_their_own():
    found = study_references(SMALL.build(), SUITE)
    assert set(found) == {1, 2}
    for reference in found.values():
        assert 0.5 <= reference.chance < reference.words.few_shot < 1
        assert reference.lookup.projected == reference.bayes == 1  # a word shows the block

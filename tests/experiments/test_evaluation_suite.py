from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import RidgeClassifier

from ntpcompanion.experiments.evaluation_suite import (
    EvaluationPlan,
    draw_suite,
    fine_tuned,
    fisher_of,
    hutchinson_of,
    labels_of,
    measure_heads,
    measure_model,
    reference_accuracies,
)
from ntpcompanion.experiments.experiment import Plan
from ntpcompanion.mlm.evaluate import evaluate
from ntpcompanion.mlm.lookup import lookup_features
from ntpcompanion.mlm.probe import ProbePlan, extract_features, linear_probe
from ntpcompanion.mlm.ridge import ridge_accuracy
from ntpcompanion.networks.build import build_model
from ntpcompanion.randomness import torch_stream
from tests.mlm.cases import SMALL, TRANSFORMER, generator

PROBE = ProbePlan(learning_rate=1e-2, epochs=4, batch_size=64)


@pytest.fixture(scope="module")
def case():
    language = SMALL.build()
    suite = draw_suite(language, 4, [2, 3], [600, 400], 60, PROBE, EvaluationPlan(30, 3, 4), 1)
    return language, build_model(TRANSFORMER, 0), suite


def test_a_row_holds_what_the_measurements_return(case):
    _, model, suite = case
    row = measure_model(model, suite)
    evaluation = evaluate(model, suite.test)
    assert (row.entropy, row.kl, row.saturated) == (
        evaluation.entropy,
        evaluation.kl,
        False,
    )
    assert (row.fisher, row.fisher_stderr) == (
        fisher_of(model, suite, labels_of(suite)).value,
        fisher_of(model, suite, labels_of(suite)).stderr,
    )
    vectors = torch_stream(1, "vectors of Hutchinson's estimate")
    assert row.hutchinson == hutchinson_of(model, suite, vectors).value
    task = suite.tasks[3]
    pair = task.with_inputs(*(extract_features(model, x.inputs) for x in (task.train, task.test)))
    expected = [
        linear_probe(*pair, PROBE, torch.Generator().manual_seed(seed)).accuracy.value
        for seed in (0, 1)
    ]
    assert row.accuracies[3] == pytest.approx(expected, abs=1e-9)
    assert row.closed_form[3] == ridge_accuracy(*pair, 1e-9).value
    assert set(row.accuracies) == set(row.closed_form) == {2, 3}


def test_the_closed_form_is_fitted_on_the_one_set_and_measured_on_the_other(case):
    _, _, suite = case
    task = suite.tasks[3]
    alone = replace(suite, tasks={3: task})
    given = [
        x.labels[:, None] + torch.randn(len(x.labels), 3, generator=generator(k))
        for k, x in enumerate((task.train, task.test))
    ]
    theirs = RidgeClassifier(alpha=1e-6, solver="svd").fit(
        given[0].numpy(), task.train.labels.numpy()
    )
    assert min(np.abs(theirs.decision_function(inputs.numpy())).min() for inputs in given) > 1e-5, (
        "no score is so near to a tie"
    )
    both = [
        theirs.score(inputs.numpy(), x.labels.numpy())
        for inputs, x in zip(given, (task.train, task.test), strict=True)
    ]
    found = measure_heads(alone, lambda tokens: given[tokens is not task.train.inputs])[
        3
    ].closed_form
    assert found.value == both[1] != both[0]
    assert 0.6 < found.value < 0.95


def test_traces_are_of_the_first_sentences_only(case):
    language, model, suite = case
    longer = draw_suite(language, 4, [2], [40, 10], 60, PROBE, EvaluationPlan(60, 3), 1)
    assert fisher_of(model, suite, labels_of(suite)).samples == 30
    assert fisher_of(model, longer, labels_of(longer)).samples == 60
    assert measure_model(model, longer).hutchinson is None


def test_lines_are_ordered_as_they_must_be(case):
    language, _, suite = case
    lines = reference_accuracies(language, suite)
    for place, own in lines.items():
        error = 4 * (0.25 / 400) ** 0.5
        assert own.chance <= own.bayes + error
        closed = [own.lookup_closed_form, own.words_closed_form]
        assert max([*own.lookup, *own.words, *closed]) <= own.bayes + error
        assert own.bayes == suite.tasks[place].bayes.value
    exact = measure_heads(suite, lambda tokens: lookup_features(language, tokens, 4))
    assert lines[2].lookup == exact[2].trained.accuracies
    assert lines[2].lookup_closed_form == exact[2].closed_form.value


def test_fine_tuning_uses_the_seeds_and_leaves_the_model_alone(case):
    _, model, suite = case
    before = [p.clone() for p in model.parameters()]
    found = fine_tuned(
        model, suite, 2, ProbePlan(learning_rate=1e-2, epochs=2, batch_size=32, scaling="none")
    )
    assert len(found.accuracies) == 2
    assert found.mean > 0.6
    assert all(torch.equal(p, q) for p, q in zip(before, model.parameters(), strict=True))


def test_another_seed_draws_other_sentences():
    first, second = (
        draw_suite(SMALL.build(), 4, [2], [20, 20], 20, PROBE, EvaluationPlan(20), seed)
        for seed in (0, 1)
    )
    assert not torch.equal(first.test.tokens, second.test.tokens)
    assert not torch.equal(first.tasks[2].train.inputs, second.tasks[2].train.inputs)


def test_more_inputs_than_sentences_are_refused():
    with pytest.raises(
        ValueError,
        match=r"`inputs` must be at most the 20 test sentences, got 21\. Draw more sentences",
    ):
        draw_suite(SMALL.build(), 4, [2], [20, 20], 20, PROBE, EvaluationPlan(21), 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"inputs": 0}, "`inputs` .*greater than or equal to 1, got 0"),
        ({"labels": 0}, "`labels` .*greater than or equal to 1, got 0"),
        ({"probes": -1}, "`probes` .*greater than or equal to 0, got -1"),
        ({"probe_seeds": [3]}, "`probe_seeds` .*at least 2 items"),
    ],
)
def test_sizes_out_of_range_are_refused_by_name(change, words):
    class Measured(Plan):
        evaluation: EvaluationPlan

    with pytest.raises(ValueError, match=words.replace("`", "`evaluation.", 1)):
        Measured.from_json({"evaluation": change})

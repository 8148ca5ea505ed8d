from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import RidgeClassifier

from ntpcompanion.comparison.yardstick import (
    draw_yardstick,
    fine_tuned,
    fisher_of,
    hutchinson_of,
    measured,
    probed,
    reference_lines,
)
from ntpcompanion.mlm.evaluate import evaluate
from ntpcompanion.mlm.lookup import lookup_features
from ntpcompanion.mlm.model import build_model
from ntpcompanion.mlm.probe import ProbePlan, extract_features, linear_probe
from ntpcompanion.mlm.ridge import ridge_accuracy
from tests.mlm.cases import SMALL, TRANSFORMER, generator

PROBE = ProbePlan(rate=1e-2, epochs=4, batch=64)


@pytest.fixture(scope="module")
def case():
    language = SMALL.build()
    yardstick = draw_yardstick(
        language, 4, [2, 3], [600, 400], 60, PROBE, 1, inputs=30, labels=3, directions=4
    )
    return language, build_model(TRANSFORMER, 0), yardstick


def test_a_row_holds_what_the_measurements_return(case):
    _, model, yardstick = case
    row = measured(model, yardstick)
    evaluation = evaluate(model, yardstick.test)
    assert (row["entropy"], row["kl"], row["saturated"]) == (
        evaluation.entropy,
        evaluation.kl,
        False,
    )
    assert (row["fisher"], row["fisher_stderr"]) == (
        fisher_of(model, yardstick).value,
        fisher_of(model, yardstick).stderr,
    )
    assert row["hutchinson"] == hutchinson_of(model, yardstick).value
    task = yardstick.tasks[3]
    pair = task.with_inputs(*(extract_features(model, x.inputs) for x in (task.train, task.test)))
    expected = [
        linear_probe(*pair, PROBE, torch.Generator().manual_seed(seed)).accuracy.value
        for seed in (0, 1)
    ]
    assert row["accuracies"]["3"] == pytest.approx(expected, abs=1e-9)
    assert row["closed_form"]["3"] == ridge_accuracy(*pair, 1e-9).value
    assert set(row["accuracies"]) == set(row["closed_form"]) == {"2", "3"}


def test_the_closed_form_is_fitted_on_the_one_set_and_measured_on_the_other(case):
    _, _, yardstick = case
    task = yardstick.tasks[3]
    alone = replace(yardstick, tasks={3: task})
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
    found = probed(alone, lambda tokens: given[tokens is not task.train.inputs])[3].closed_form
    assert found.value == both[1] != both[0]
    assert 0.6 < found.value < 0.95


def test_traces_are_of_the_first_sentences_only(case):
    language, model, yardstick = case
    longer = draw_yardstick(language, 4, [2], [40, 10], 60, PROBE, 1, inputs=60, labels=3)
    assert fisher_of(model, yardstick).samples == 30
    assert fisher_of(model, longer).samples == 60
    assert "hutchinson" not in measured(model, longer)


def test_lines_are_ordered_as_they_must_be(case):
    language, _, yardstick = case
    lines = reference_lines(language, yardstick)
    for place, own in lines.items():
        error = 4 * (0.25 / 400) ** 0.5
        assert own["chance"] <= own["bayes"] + error
        closed = [own["lookup, closed form"], own["words, closed form"]]
        assert max(own["lookup"] + own["words"] + closed) <= own["bayes"] + error
        assert own["bayes"] == yardstick.tasks[int(place)].bayes.value
    exact = probed(yardstick, lambda tokens: lookup_features(language, tokens, 4))
    assert lines["2"]["lookup"] == list(exact[2].trained.accuracies)
    assert lines["2"]["lookup, closed form"] == exact[2].closed_form.value


def test_fine_tuning_uses_the_seeds_and_leaves_the_model_alone(case):
    _, model, yardstick = case
    before = [p.clone() for p in model.parameters()]
    found = fine_tuned(
        model, yardstick, 2, ProbePlan(rate=1e-2, epochs=2, batch=32, scaling="none")
    )
    assert len(found.accuracies) == 2
    assert found.mean > 0.6
    assert all(torch.equal(p, q) for p, q in zip(before, model.parameters(), strict=True))


def test_another_seed_draws_other_sentences():
    first, second = (
        draw_yardstick(SMALL.build(), 4, [2], [20, 20], 20, PROBE, seed, inputs=20)
        for seed in (0, 1)
    )
    assert not torch.equal(first.test.tokens, second.test.tokens)
    assert not torch.equal(first.tasks[2].train.inputs, second.tasks[2].train.inputs)


def test_more_inputs_than_sentences_are_refused():
    with pytest.raises(
        ValueError,
        match=r"`inputs` must be at most the 20 test sentences, got 21\. Draw more sentences",
    ):
        draw_yardstick(SMALL.build(), 4, [2], [20, 20], 20, PROBE, 0, inputs=21)

from itertools import pairwise, product

import pytest
import torch

from ntpcompanion.languages.grammars import span_labels
from ntpcompanion.languages.language import PADDING
from ntpcompanion.mlm.language_plans import HMMPlan
from ntpcompanion.mlm.tasks import draw_task
from tests.mlm.cases import MIXED, SMALL, generator


def test_labels_of_a_markov_model_are_its_states_and_bayes_is_exact():
    language = HMMPlan(3, 4, 4).build()
    task = draw_task(language, 3, 4000, 20000, 5, generator())
    assert (task.train.inputs.shape, task.test.inputs.shape) == ((4000, 5), (20000, 5))
    assert (task.train.inputs[:, 4] == PADDING).all()
    tokens, states = language.sample_with_states(24000, generator())
    assert torch.equal(torch.cat([task.train.inputs, task.test.inputs])[:, :4], tokens)
    assert torch.equal(torch.cat([task.train.labels, task.test.labels]), states[:, 2])
    assert task.train.classes == 3
    best = {}  # max over z_3 of Pr(x, z_3), by enumeration of all sentences and paths
    for sentence in product(range(4), repeat=4):
        joint = [0.0, 0.0, 0.0]
        for path in product(range(3), repeat=4):
            moves = [language.transition[step] for step in pairwise(path)]
            words = [language.emission[place] for place in zip(path, sentence, strict=True)]
            joint[path[2]] += float(language.initial[path[0]] * torch.stack(moves + words).prod())
        best[sentence] = max(joint)
    assert task.bayes.value == pytest.approx(sum(best.values()), abs=5 * task.bayes.stderr)


def test_sentences_of_a_grammar_have_the_label_that_was_asked_for():
    language = MIXED.build()
    task = draw_task(language, 2, 300, 100, 6, generator())
    for examples, n in ((task.train, 300), (task.test, 100)):
        assert examples.inputs.shape == (n, 6)
        assert ((examples.inputs != PADDING).sum(1) >= 2).all()
        assert torch.equal(span_labels(language, examples.inputs, 2, "posterior"), examples.labels)
        assert examples.classes == language.num_symbols
    assert (task.bayes.value, task.bayes.stderr) == (1.0, 0.0)
    again = draw_task(language, 2, 300, 100, 6, generator())
    assert torch.equal(again.test.inputs, task.test.inputs)


def test_other_inputs_keep_the_labels():
    task = draw_task(SMALL.build(), 1, 10, 6, 4, generator())
    train, test = task.with_inputs(torch.zeros(10, 2), torch.ones(6, 2))
    assert torch.equal(train.labels, task.train.labels)
    assert torch.equal(test.labels, task.test.labels)
    assert test.inputs.sum() == 12


def test_places_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="`place` must be at least 1, got 0"):
        draw_task(SMALL.build(), 0, 10, 10, 4, generator())
    with pytest.raises(
        ValueError, match=r"`place` must be at most 4, the length of the sentences, got 5"
    ):
        draw_task(SMALL.build(), 5, 10, 10, 4, generator())
    with pytest.raises(
        ValueError,
        match=(
            r"`place` = 5: 0 of 10000 sentences have a symbol over their first 5 words. Take fewer"
        ),
    ):
        draw_task(MIXED.build(), 5, 10, 10, 5, generator())
    with pytest.raises(
        ValueError, match=r"`tokens` holds sentences of .* words, the model has 3 `positions`"
    ):
        draw_task(SMALL.build(), 1, 10, 10, 3, generator())

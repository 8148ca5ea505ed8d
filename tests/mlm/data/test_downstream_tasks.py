from itertools import pairwise, product

import numpy as np
import pytest
import torch

from ntpcompanion.languages.grammars.levelled_grammars import random_levelled_pcfg, span_labels
from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.language import PADDING
from ntpcompanion.mlm.data.downstream_tasks import draw_task, label_posterior, with_posteriors
from ntpcompanion.mlm.data.language_plans import HMMPlan
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


def hidden_state_by_enumeration(language, sentence, position):
    """Pr(z_place | sentence): all paths of states, one by one."""
    joint = [0.0] * language.num_states
    for path in product(range(language.num_states), repeat=len(sentence)):
        moves = [language.transition[step] for step in pairwise(path)]
        words = [language.emission[pair] for pair in zip(path, sentence, strict=True)]
        joint[path[position - 1]] += float(
            language.initial[path[0]] * torch.stack(moves + words).prod()
        )
    return [chance / sum(joint) for chance in joint]


def test_the_posterior_of_a_state_is_that_of_all_paths():
    language = HMMPlan(3, 4, 4, transition=0.5).build()
    tokens = language.sample(5, generator())
    for position in (1, 4):
        for found, sentence in zip(
            label_posterior(language, tokens, position), tokens, strict=True
        ):
            expected = hidden_state_by_enumeration(language, sentence.tolist(), position)
            assert found.tolist() == pytest.approx(expected, abs=1e-12)


def first_two_by_hand(grammar, sentence):
    """The symbol a of the first two of three words: trees root → a c only, each with its rules."""
    x, y, z = sentence
    weight = torch.zeros(grammar.num_symbols, dtype=torch.float64)
    for root, a, c in product(range(grammar.num_symbols), repeat=3):
        rule = grammar.root[root] * grammar.binary[root, a, c] * grammar.lexical[c, z]
        yields = (
            grammar.binary[a] * torch.outer(grammar.lexical[:, x], grammar.lexical[:, y])
        ).sum()
        weight[a] += rule * yields
    return weight / weight.sum()


def test_the_posterior_of_a_symbol_is_that_of_the_trees_in_which_it_spans_the_words():
    language = MIXED.build()
    task = with_posteriors(draw_task(language, 2, 60, 60, 4, generator()), language, 2)
    three = (task.test.inputs != PADDING).sum(1) == 3
    assert int(three.sum()) > 5
    for row in three.nonzero()[:, 0].tolist():
        expected = first_two_by_hand(language, task.test.inputs[row, :3].tolist())
        assert task.test_posterior[row].tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_the_labels_are_the_best_guesses_where_they_are_functions_of_the_sentence():
    language = MIXED.build()
    drawn = draw_task(language, 2, 60, 50, 4, generator())
    task = with_posteriors(drawn, language, 2)
    best = task.accuracy(task.test.labels)
    assert best.value == pytest.approx(task.bayes.value, abs=1e-12)
    assert torch.equal(task.train_posterior.argmax(1), task.train.labels)
    assert task.train is drawn.train
    assert task.bayes.value < 1


def test_guesses_are_scored_as_drawn_labels_would_on_average():
    language = HMMPlan(3, 4, 4, transition=0.3, emission=0.3).build()
    task = with_posteriors(draw_task(language, 2, 10, 4000, 4, generator()), language, 2)
    guesses = torch.randint(3, (4000,), generator=generator(1))
    found = task.accuracy(guesses)
    drawn = (guesses == task.test.labels).double()
    assert found.stderr < float(drawn.std()) / 4000**0.5
    assert found.value == pytest.approx(float(drawn.mean()), abs=5 * 0.5 / 4000**0.5)
    assert found.value < task.bayes.value


def test_sentences_without_the_label_are_refused():
    language = MIXED.build()
    words = torch.arange(8)[:, None]
    words = words[language.log_prob(words).isfinite()]
    assert len(words)
    short = torch.cat([words, torch.full_like(words, PADDING)], 1)
    with pytest.raises(
        ValueError, match=r"`tokens`: row 0 has no label at `position` = 2. Leave it"
    ):
        label_posterior(language, short, 2)
    with pytest.raises(
        ValueError, match="`position` must lie in 1 … 2 as the sentences have words, got 3"
    ):
        label_posterior(language, short, 3)


def short_sentences():
    """A grammar nearly all of whose sentences have one word, and at most 4."""
    sizes = {"symbols": 6, "vocab": 8, "depth": 3, "pairs": 2, "words": 3, "stop": 0.9999}
    return random_levelled_pcfg(np.random.default_rng(0), **sizes)


def test_positions_that_do_not_exist_are_refused():
    with pytest.raises(
        ValueError, match=r"`position` must be at most 4, the length of the sentences, got 5"
    ):
        draw_task(SMALL.build(), 5, 10, 10, 4, generator())
    with pytest.raises(
        ValueError,
        match=r"`position` = 4: 0 of 10000 sentences have a symbol over their first 4 words\.",
    ):
        draw_task(short_sentences(), 4, 10, 10, 5, generator())
    with pytest.raises(ValueError, match="`position` must be at most 4, the length of the sent"):
        draw_task(MIXED.build(), 5, 10, 10, 5, generator())
    endless = PCFG(torch.ones(1), torch.full((1, 1, 1), 0.5), torch.tensor([[0.5]]))
    with pytest.raises(ValueError, match="`language` must be a grammar with a longest sentence"):
        draw_task(endless, 1, 10, 10, 5, generator())
    with pytest.raises(
        ValueError, match=r"`tokens` holds sentences of .* words, the model has 3 `positions`"
    ):
        draw_task(SMALL.build(), 1, 10, 10, 3, generator())

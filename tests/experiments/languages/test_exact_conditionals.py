from itertools import product

import numpy as np
import pytest
import torch

from ntpcompanion.experiments.languages import exact_conditionals
from ntpcompanion.experiments.languages.exact_conditionals import Plan, drawn_tree
from ntpcompanion.languages.language import exact_entropy_floor
from tests.experiments.cases import check_wrong_fields, small_run

PLAN = {
    "states": 4,
    "words": 6,
    "length": 4,
    "blocks": [1, 2],
    "pictured_blocks": 2,
    "symbols": 20,
    "depth": 5,
    "pairs": [4],
    "lexicon": [3],
    "draws": 3,
    "sentences": 3000,
    "parsed": 150,
    "checked": 30,
    "seed": 0,
}
found, test_a_result_repeats_and_is_plain = small_run(exact_conditionals, PLAN, long=True)


def test_conditionals_are_exact_and_floors_those_of_all_sentences(found):
    assert max(found.model_error, found.grammar_error) < 1e-12
    plan = Plan.from_json(PLAN)
    exact = [exact_entropy_floor(plan.markov_model(1, k), (4,)).per_sentence for k in range(3)]
    kind = "hidden Markov model, 1 blocks"
    assert found.per_sentence[kind] == pytest.approx(exact, abs=0.02)
    assert found.floors.per_sentence[kind] == pytest.approx(np.mean(found.per_sentence[kind]))
    nearest = found.nearest_floor(0.0, among=3)
    assert nearest.mean == pytest.approx(min(found.floors.per_sentence))


def test_the_likeliest_path_is_that_of_all_paths():
    """Every conditional by the largest product of probabilities over all sequences of states."""
    model = Plan.from_json(PLAN).markov_model(1)
    rows = model.sample(5, torch.Generator().manual_seed(1))
    start, step, emit = (p.numpy() for p in (model.initial, model.transition, model.emission))
    divergences = []
    for row, t in product(rows.tolist(), range(4)):
        best = []
        for word in range(6):
            words = [*row[:t], word, *row[t + 1 :]]
            paths = product(range(4), repeat=4)
            best.append(
                max(
                    start[p[0]]
                    * np.prod(step[p[:-1], p[1:]])
                    * np.prod([emit[z, x] for z, x in zip(p, words, strict=True)])
                    for p in map(np.array, paths)
                )
            )
        exact = model.masked_conditional(torch.tensor([row]))[0, t].numpy()
        divergences.append((exact * np.log(exact / (best / np.sum(best)))).sum())
    divergence = exact_conditionals._viterbi_divergence(model, rows)
    assert divergence == pytest.approx(np.mean(divergences))


def test_labels_and_trees(found):
    rows = found.label_fractions
    assert list(rows.index) == ["whole sentence", "first 8 words", "first 2 words"]
    assert rows["sentences with a label"].iloc[0] == 1
    assert 0 < rows["sentences with a label"].iloc[1] < rows["sentences with a label"].iloc[2] <= 1
    tree = drawn_tree(Plan.from_json(PLAN).grammar(), seed=0)
    assert tree.words[0] == tree.word.notna().sum()
    assert tree.words[0] in range(9, 15)
    assert tree.posterior.between(1e-9, 1 + 1e-9).all()


def test_a_lexicon_of_another_length_is_named():
    wrong = {"lexicon": ([3, 4], r"`lexicon` must be as long as `pairs`, 1, got \(3, 4\)")}
    check_wrong_fields(Plan, PLAN, wrong)

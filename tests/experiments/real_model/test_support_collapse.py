from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest

from ntpcompanion.experiments.real_model import support_collapse
from ntpcompanion.experiments.real_model.model_text import load, read_contexts
from ntpcompanion.experiments.real_model.support_collapse import (
    Pairs,
    Plan,
    comparable_pairs,
    exchange,
    layer_table,
    match,
)
from ntpcompanion.languages.pretrained.hidden_states import HiddenStates, hidden_states

WIDE = {"affinity_caliper": 1.0, "entropy_caliper": 9.0, "token_caliper": 2.0}
REST = {"logits_caliper": 2.0, "controls": 3, "permutations": 2, "last_layer": 2, "least_times": 1}


def plan_of(model_text, **changes):
    return Plan(**model_text | {"context_length": 3, "contexts": 35} | WIDE | REST | changes)


@pytest.fixture(scope="module")
def plan(model_text):
    return plan_of(model_text)


@pytest.fixture(scope="module")
def result(plan):
    return support_collapse.run(plan)


def mean_by_support(differences):
    """Of a list of (support, number): within each support, then over supports."""
    by_support = defaultdict(list)
    for support, number in differences:
        by_support[support].append(number)
    return np.mean([np.mean(numbers) for numbers in by_support.values()])


def by_hand(pairs, kind, controls, columns):
    """Differences of the last value: of all pairs where `columns` is 0, else of the nearest."""
    every = list(zip(pairs.first, pairs.second, pairs.size, pairs.similarity, strict=True))
    found = []
    for n, (i, j, size, where) in enumerate(every):
        if kind[i] != kind[j]:
            continue
        others = [
            (max(abs(there - where)[:columns], default=0), pairs.values[-1, k])
            for k, (a, b, other, there) in enumerate(every)
            if kind[a] != kind[b] and other == size
        ]
        if columns:
            others = sorted(other for other in others if other[0] < 1)[:controls]
        if others:
            found.append((kind[i], pairs.values[-1, n] - np.mean([o[1] for o in others])))
    return len(found), mean_by_support(found)


@pytest.mark.parametrize("controls", [1, 4])
def test_matches_are_those_of_an_enumeration(controls):
    """Some pairs have fewer controls within the calipers than asked for, and some none."""
    rng = np.random.default_rng(0)
    kind, size_of = rng.integers(0, 6, 24), np.array([1, 1, 1, 2, 2, 3])
    both = [p for p in combinations(range(24), 2) if size_of[kind[p[0]]] == size_of[kind[p[1]]]]
    i, j = np.array(both).T
    similarity, values = rng.standard_normal((len(i), 4)), rng.standard_normal((2, len(i)))
    pairs = Pairs(i, j, size_of[kind[i]], 2 * similarity, values)
    found = match(pairs, kind, controls)
    rows = {"unmatched": 0, "matched": 3, "matched_logits": 4}
    counts = []
    for name, columns in rows.items():
        count, mean = by_hand(pairs, kind, controls, columns)
        one = getattr(found, name)
        assert one.pairs == count
        assert one.cosines == pytest.approx((mean,), abs=1e-12)
        counts.append(count)
    assert counts[0] > counts[1] > counts[2]


def planted(rng, m=240, classes=12, vocabulary=20):
    """Predictions of a class each, with noise. The supports are those of the class, or another in
    one case of two. Three layers: last tokens, the predictions, the supports.
    """
    group = rng.integers(0, classes, m)
    kind = np.where(rng.random(m) < 0.5, group, rng.integers(0, classes, m))
    centre = rng.standard_normal((classes, vocabulary))
    logits = 1.5 * centre[group] + 0.7 * rng.standard_normal((m, vocabulary))
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    mark = rng.standard_normal((classes, 30))
    layers = [rng.standard_normal((m, 30)), np.exp(log_p / 2) @ rng.standard_normal((20, 30))]
    layers.append(mark[kind] + rng.standard_normal((m, 30)))
    return kind, HiddenStates(np.stack(layers), log_p)


def test_a_planted_collapse_is_found_and_similar_predictions_are_none(model_text):
    rng = np.random.default_rng(1)
    kind, read = planted(rng)
    contexts = np.arange(480).reshape(240, 2)
    near = {"affinity_caliper": 0.02, "entropy_caliper": 0.3, "token_caliper": 0.2}
    plan = plan_of(model_text, **near, logits_caliper=0.1, controls=5)
    pairs = comparable_pairs(plan, contexts, np.ones(240, dtype=int), read)
    found = match(pairs, kind, plan.controls)
    _, of_predictions, of_supports = found.unmatched.cosines
    assert of_predictions > 0.15
    assert of_supports > 0.4
    for matched in (found.matched, found.matched_logits):
        assert abs(matched.affinity) < 0.005
        tokens, predictions, supports = matched.cosines
        assert abs(tokens) < 0.02
        assert abs(predictions) < 0.02
        assert supports > 0.4
    other = exchange(kind, np.ones(240, dtype=int), rng)
    assert np.abs(match(pairs, other, 5).matched.cosines).max() < 0.03


def test_pairs_share_no_token_and_have_as_many_successors(plan):
    loaded = load(plan)
    data = read_contexts(plan, loaded.tokenizer)
    read = hidden_states(loaded.model, data.contexts, loaded.bos, (0, 1, 2))
    size = (data.counts > 0).sum(axis=1)
    pairs = comparable_pairs(plan, data.contexts, size, read)
    sets = [set(context) for context in data.contexts.tolist()]
    by_definition = [
        (i, j)
        for i, j in combinations(range(plan.contexts), 2)
        if not sets[i] & sets[j] and size[i] == size[j]
    ]
    assert list(zip(pairs.first, pairs.second, strict=True)) == by_definition
    logits = read.states[2] @ loaded.model.get_output_embeddings().weight.detach().numpy().T
    vectors = [read.states[0], logits - logits.mean(axis=1, keepdims=True)]
    centred = [one - one.mean(axis=0) for one in vectors]
    for n, (i, j) in enumerate(by_definition):
        q, other = np.exp(read.log_p[i]), np.exp(read.log_p[j])
        entropies = [-(p * np.log(p)).sum() for p in (q, other)]
        cosines = [
            one[i] @ one[j] / np.linalg.norm(one[i]) / np.linalg.norm(one[j]) for one in centred
        ]
        expected = [np.sqrt(q * other).sum(), np.mean(entropies), *cosines]
        assert pairs.similarity[n] * [1.0, 9.0, 2.0, 2.0] == pytest.approx(expected, abs=1e-5)
        assert pairs.values[:2, n] == pytest.approx([expected[0], cosines[0]], abs=1e-5)


def test_supports_are_exchanged_among_those_of_the_same_size():
    kind, size = np.array([0, 0, 1, 2, 2, 3] * 4), np.array([1, 1, 1, 2, 2, 2] * 4)
    other = exchange(kind, size, np.random.default_rng(0))
    assert (other != kind).any()
    for value in (1, 2):
        assert sorted(other[size == value]) == sorted(kind[size == value])


def test_a_run_repeats_and_its_table_has_a_row_for_each_layer(plan, result):
    assert support_collapse.run(plan) == result
    assert support_collapse.Result.from_json(result.to_json()) == result
    assert len(result.permuted) == plan.permutations
    assert result.contexts == plan.contexts
    table = layer_table([result, result])
    assert table.part.tolist() == [0, 0, 0, 1, 1, 1]
    assert table.layer.tolist() == [0, 1, 2, 0, 1, 2]
    assert tuple(table.matched[:3]) == result.text.matched.cosines
    nulls = [one.cosines[1] for one in result.permuted]
    assert table.null[1] == pytest.approx(np.mean(nulls))


def test_contexts_that_are_seen_less_often_are_left_out(plan):
    whole = {"segments": 1, "segment": 0, "context_length": 2, "contexts": 24, "least_times": 3}
    often = plan.model_copy(update=whole)
    times = read_contexts(often, load(often).tokenizer).counts.sum(axis=1)
    result = support_collapse.run(often)
    assert result.contexts == (times >= 3).sum() < 24
    assert result.times == times[times >= 3].sum()


def test_contexts_without_equal_supports_are_named(model_text):
    few = plan_of(model_text, contexts=3)
    with pytest.raises(ValueError, match="`contexts` have no pairs of equal supports to compare"):
        support_collapse.run(few)

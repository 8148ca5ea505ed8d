from itertools import combinations

import numpy as np
import pytest
from scipy.special import log_softmax

from ntpcompanion.experiments.real_model import output_matrix
from ntpcompanion.experiments.real_model.model_text import load, read_contexts
from ntpcompanion.experiments.real_model.output_matrix import (
    compare,
    follow,
    parts,
    sample_splits,
    split_loss,
)
from ntpcompanion.languages.pretrained.hidden_states import HiddenStates, hidden_states
from ntpcompanion.linear import ContextTable, check_compatibility, solve_ntp_svm
from ntpcompanion.linear.dynamics.excess_bounds import decompose_excess_loss


@pytest.fixture(scope="module")
def plan(model_text):
    few = {"contexts": 12, "last_layer": 2, "other_layer": 1, "samples": 3, "steps": (1, 20)}
    return output_matrix.Plan(**model_text | few, store=True)


@pytest.fixture(scope="module")
def result(plan):
    return output_matrix.run(plan)


@pytest.fixture(scope="module")
def table():
    return ContextTable.random(6, 5, 2, 8, np.random.default_rng(0))


def random_matrix(table, seed=1):
    return np.random.default_rng(seed).standard_normal((table.vocab_size, table.dim))


def test_the_loss_splits_as_that_of_a_decoder(table):
    counts = np.random.default_rng(2).integers(1, 9, (6, 5)) * table.support.toarray()
    times = counts.sum(axis=1)
    same = ContextTable(table.embeddings, counts / times[:, None], times / times.sum())
    W = random_matrix(table)
    split = split_loss(counts, log_softmax(table.embeddings @ W.T, axis=1))
    known = decompose_excess_loss(same, W)
    assert split.floor == pytest.approx(same.entropy)
    assert (split.inside, split.outside) == pytest.approx((known.inside, known.off_support))
    assert split.floor + split.excess == pytest.approx(same.cross_entropy(W))


def test_the_parts_of_a_matrix_are_what_the_embeddings_see(table):
    few = ContextTable(table.embeddings[:3], table.next_token[:3], np.full(3, 1 / 3))
    W = random_matrix(few)
    inside, outside = parts(few, W)
    change = few.embeddings @ (W - inside - outside).T
    assert np.allclose(change, change[:, :1])  # a constant for all tokens
    assert np.abs((inside + outside).sum(axis=0)).max() < 1e-9  # and nothing of that constant
    logits = few.embeddings @ outside.T
    for row, support in zip(logits, few.support.toarray(), strict=True):
        assert np.ptp(row[support]) < 1e-9
    assert abs((inside * outside).sum()) < 1e-9


def test_the_solutions_of_the_paper_have_cosines_of_one(table):
    svm, finite = solve_ntp_svm(table).weights, check_compatibility(table).finite_part
    both = compare("none", table, finite + 7 * svm, svm)
    assert (both.outside, both.outside_logits, both.inside, both.odds) == pytest.approx((1,) * 4)
    assert both.ordered == 1
    assert (both.norm, both.svm_norm) == pytest.approx((7 * np.linalg.norm(svm), both.svm_norm))
    wrong = compare("none", table, -finite - svm, svm)
    assert (wrong.outside, wrong.inside, wrong.ordered) == pytest.approx((-1, -1, 0))


def test_descent_from_zero_is_its_own_change_and_lowers_the_loss(table):
    svm = solve_ntp_svm(table).weights
    first, later, last = follow(table, np.zeros((5, 8)), svm, (1, 10, 200))
    assert [first.step, later.step, last.step] == [1, 10, 200]
    assert first.excess > later.excess > last.excess
    assert last.outside == pytest.approx(last.change)
    assert last.outside > 0.8


def test_the_change_of_a_descent_is_measured_from_its_start(table):
    """One step by hand; a part outside of F is what no difference within a support explains."""
    svm, start = solve_ntp_svm(table).weights, 5 * random_matrix(table)
    gradient = table.gradient(start).ravel()
    differences, ties = (
        np.array(
            [
                np.outer(np.eye(5)[z] - np.eye(5)[v], h).ravel()
                for h, row in zip(table.embeddings, table.support.toarray(), strict=True)
                for z, v in combinations(range(5), 2)
                if not within or (row[z] and row[v])
            ]
        )
        for within in (False, True)
    )
    moved = [rows.T @ np.linalg.lstsq(rows.T, gradient)[0] for rows in (differences, ties)]
    change = moved[1] - moved[0]
    cosine = change @ svm.ravel() / np.linalg.norm(change) / np.linalg.norm(svm)
    (step,) = follow(table, start, svm, (1,))
    assert step.change == pytest.approx(cosine, abs=1e-9)
    assert abs(step.outside - step.change) > 0.05


def test_texts_of_the_model_have_its_entropy_for_a_floor_where_they_are_long(plan):
    loaded = load(plan)
    data = read_contexts(plan, loaded.tokenizer)
    read = hidden_states(loaded.model, data.contexts, loaded.bos, (2,))
    entropy = -(np.exp(read.log_p) * read.log_p).sum(axis=1)
    times = 20_000 * np.where(entropy > np.median(entropy), 1, 10)  # of each context, unlike others
    counts = np.ones((12, len(data.successors)), dtype=int) * times[:, None]
    long = type(data)(data.contexts, data.successors, counts, data.text_sha256)
    expected = times / times.sum() @ entropy
    assert abs(expected - times[::-1] / times.sum() @ entropy) > 0.02 * expected
    for split in sample_splits(long, read, plan):
        assert split.floor == pytest.approx(expected, rel=0.01)
        assert split.excess < 0.001
    certain = HiddenStates(
        read.states, np.where(np.arange(12) == 3, 0.0, -np.inf)[None].repeat(12, 0)
    )
    assert {split.floor for split in sample_splits(data, certain, plan)} == {0.0}


@pytest.mark.slow
def test_a_run_repeats_and_its_numbers_agree_with_each_other(plan, result):
    assert output_matrix.run(plan) == result
    assert output_matrix.Result.from_json(result.to_json()).to_json() == result.to_json()
    assert [row.null for row in result.comparisons] == [
        "none",
        "shuffled",
        "same last token",
        "layer",
        "rotated",
    ]
    assert len(result.samples) == 3
    assert result.text.floor < result.samples[0].floor + result.samples[0].excess
    model, shuffled, same_last, layer, rotated = result.comparisons
    assert model.svm_norm == rotated.svm_norm
    norms = {row.svm_norm for row in (model, shuffled, same_last, layer)}
    assert len(norms) == 4
    assert result.descent[0].outside != result.descent_from_zero[0].outside


def test_the_stored_table_is_that_of_the_model(plan, result):
    loaded = load(plan)
    data = read_contexts(plan, loaded.tokenizer)
    read = hidden_states(loaded.model, data.contexts, loaded.bos, (2,))
    table = result.stored.table()
    assert np.array_equal(table.next_token, data.table(read.states[0]).next_token)
    assert table.embeddings == pytest.approx(read.states[0], rel=2**-10)
    assert result.stored.contexts[0] == loaded.tokenizer.decode(data.contexts[0])
    rows = compare("none", table, result.stored.matrix.array(), solve_ntp_svm(table).weights)
    assert rows.outside == pytest.approx(result.comparisons[0].outside, abs=0.01)
    few = result.stored.table(5)
    assert few.num_contexts == 5
    assert few.support.toarray().any(axis=0).all()
    spelled = loaded.tokenizer.decode
    followed = [int(z) for z in data.successors[(data.counts[:5] > 0).any(axis=0)]]
    assert result.stored.tokens(5) == tuple(spelled([z]) for z in followed)
    output = loaded.model.get_output_embeddings().weight[followed].detach().numpy()
    assert result.stored.rows(5) == pytest.approx(output, rel=2**-10)


@pytest.mark.slow
def test_a_table_that_no_decoder_separates_is_named(plan):
    wide = plan.model_copy(update={"contexts": 19})
    with pytest.raises(ValueError, match=r"`contexts` = \d+ in 16 dimensions: no next-token SVM"):
        output_matrix.run(wide)

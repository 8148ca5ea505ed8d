"""Every rejection once, and the same mistake with the same sentence in every package."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

from ntpcompanion import validation as v
from ntpcompanion.dyck import transferable
from ntpcompanion.dyck.sentences import balanced_sentences
from ntpcompanion.flatness.model import ConditionalModel
from ntpcompanion.flatness.toy_models import bernoulli, linear_product
from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.linear import check_separability, solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable

MASKED = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
ONE = ContextTable(np.ones((1, 1)), np.array([[1.0, 0.0]]), np.ones(1))
TEXT = np.arange(3), 3, 1, 2


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (
            lambda: v.as_integer("n", np.ones(2)),
            "`n` must be an integer, got a numpy.ndarray of float64 with shape (2,).",
        ),
        (lambda: v.as_integer("n", 5, 1, 4, "(`V`)"), "`n` must lie in 1 … 4 (`V`), got 5."),
        (lambda: v.as_positive("x", -1, "as a rate"), "positive and finite, as a rate, got -1.0."),
        (lambda: v.as_between("x", 1, 0, 1, "a gap"), "between 0 and 1, a gap, got 1.0."),
        (lambda: v.as_array("E", ["1", "2"]), "`E` must be an array of numbers, got a list."),
        (lambda: v.as_array("E", [[1], [1, 2]]), "`E` must be an array of numbers, got a list: "),
        (lambda: v.as_array("E", np.ones(2) * 1j), "of complex128 with shape (2,)."),
        (lambda: v.as_array("E", pd.Series(["1", 2])), "got a pandas.Series of object"),
        (lambda: v.as_array("E", [pd.NA]), "`E` must be an array of numbers, got a list: "),
        (lambda: v.as_array("E", MASKED), "`E` is a masked array with 1 masked entries"),
        (lambda: v.as_integer_array("t", [True]), "`t` must be an array of integers"),
        (lambda: v.as_matrix("E", np.ones(2), (None, 3)), "a matrix of shape (any, 3), got shape"),
        (lambda: v.as_matrix("E", np.ones((0, 3)), (None, 3)), "got shape (0, 3)."),
        (lambda: v.as_shaped("p", 1.0, (3,)), "`p` must be a vector of length 3, got shape ()."),
        (lambda: v.as_shaped("p", 1.0, (1, None, 2), "a b"), "an array of shape (1, any, 2), a b,"),
        (lambda: v.check_not_negative("p", np.array([-1.0])), "`p` holds the negative entry -1."),
        (lambda: v.check_sums("p", np.array([1, 0.5])), "`p` row 1 sums to 0.5, not to 1 within"),
        (lambda: v.check_sums("p", np.float64(0.5)), "`p` sums to 0.5, not to 1 within 1e-08."),
        (lambda: v.check_choice("m", ["b"], ("b", "c")), "must be one of 'b', 'c', got a list."),
        (lambda: v.check_tensor("x", [1]), "`x` must be a torch.Tensor, got a list. Wrap it"),
        (
            lambda: check_separability(ONE, time_limit="far"),
            "`time_limit` must be a number, got 'far'",
        ),
        (lambda: solve_ntp_svm(ONE, time_limit=np.nan), "`time_limit` must be positive and finite"),
        (
            lambda: solve_ntp_svm(ONE, max_iterations=True),
            "`max_iterations` must be an integer, got",
        ),
        (lambda: ONE.cross_entropy("numbers"), "`W` must be an array of numbers, got 'numbers'."),
        (lambda: ONE.excess(MASKED), "`W` is a masked array with 1 masked entries"),
        (lambda: ContextTable.from_tokens(*TEXT, 0), "`rng` must be a numpy.random.Generator, got"),
        (lambda: ContextTable([[1.0]], [[0.5, 0.4]], [1.0]), "`next_token` row 0 sums to 0.9, not"),
        (lambda: ContextTable(MASKED, [[1.0]], [1.0]), "`embeddings` is a masked array"),
        (lambda: HMM("numbers", [[1.0]], [[1.0]], 2), "`initial` must be an array of numbers"),
        (lambda: HMM([1.0], [[1.0]], [[0.5, 0.4]], 2), "`emission` row 0 sums to 0.9, not to 1"),
        (lambda: HMM([1.0], [[1.0]], [[1.0]], -3), "`length` must be at least 1, got -3."),
        (lambda: bernoulli("far", 2.0), "`probability` must be a number, got 'far'."),
        (lambda: linear_product(0), "`rng` must be a numpy.random.Generator, got 0."),
        (lambda: transferable(np.nan), "`T` must be an integer, got nan."),
        (lambda: balanced_sentences(5), "`T` must be even and at least 2, got 5. A balanced"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_every_refusal(check, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        check()


def test_what_is_right_passes_in_the_form_the_mathematics_takes():
    assert v.as_integer("n", np.int8(3), 1, 3) == v.as_integer("n", torch.tensor(3)) == 3
    assert type(v.as_integer("n", np.int8(3))) is int
    for value in (2, np.float32(2), torch.tensor(2.0), np.array(2)):
        number = v.as_positive("x", value)
        assert (type(number), number) == (float, 2.0)
    wanted = np.array([[1.0, 2.0], [3.0, 4.0]])
    for value in (
        [[1, 2], [3, 4]],
        pd.DataFrame(wanted),
        torch.tensor(wanted),
        wanted.astype("f4"),
    ):
        matrix = v.as_matrix("E", value, (2, None))
        assert matrix.dtype == np.float64
        assert np.array_equal(matrix, wanted)
        assert not matrix.flags.writeable
    assert wanted.flags.writeable
    assert np.array_equal(v.as_array("E", torch.ones(2, requires_grad=True)), [1, 1])
    assert np.array_equal(v.as_array("E", np.ma.masked_array([1.0])), [1])
    assert v.as_array("E", pd.Series([1, 2], dtype=object)).tolist() == [1, 2]
    assert v.as_integer_array("t", []).size == 0
    v.check_probabilities("p", wanted / wanted.sum(1, keepdims=True), np.ones(2))


TOY = bernoulli(0.8, 2.0)


@pytest.mark.usefixtures("unchecked_shapes")
def test_lists_arrays_and_data_frames_are_the_same_language():
    transition = [[0.9, 0.1], [0.3, 0.7]]  # sums that single precision misses
    emission = [[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]
    tokens = torch.tensor([[0, 1, 2]])
    kinds = (list, np.array, pd.DataFrame, lambda x: torch.tensor(x, dtype=torch.float64))
    languages = [HMM([0.4, 0.6], kind(transition), kind(emission), 3) for kind in kinds]
    for language in languages[1:]:
        assert language.transition.equal(languages[0].transition)
        assert language.emission.equal(languages[0].emission)
        # the columns of a data frame lie one after the other: its products may round otherwise
        expected = pytest.approx(float(languages[0].log_prob(tokens)), rel=1e-14)
        assert float(language.log_prob(tokens)) == expected
    binary, lexical = np.full((1, 1, 1), 0.4), [[0.35, 0.25]]
    likelihoods = {
        float(PCFG([1.0], kind(binary), lexical).log_prob(torch.tensor([[0, 1]])))
        for kind in (np.array, np.ndarray.tolist, torch.tensor)
    }
    assert len(likelihoods) == 1


@pytest.mark.usefixtures("unchecked_shapes")
def test_no_table_changes_with_the_arrays_it_was_made_of():
    embeddings, distributions, weight = np.eye(2), np.eye(2), np.full(2, 0.5)
    table = ContextTable(embeddings, distributions, weight)
    language = HMM(weight, distributions, distributions, 2)
    model = ConditionalModel(TOY.model.logits, distributions, weight)
    before = table.cross_entropy(np.eye(2)), language.log_prob(torch.tensor([[0, 0]]))
    embeddings[:], distributions[:], weight[:] = 7, 7, 7
    assert table.cross_entropy(np.eye(2)) == before[0]
    assert torch.equal(language.log_prob(torch.tensor([[0, 0]])), before[1])
    assert float(model.distributions.max()) == 1

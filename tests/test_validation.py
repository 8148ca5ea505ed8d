"""Every rejection once, and the same mistake with the same sentence in every package."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

from ntpcompanion import validation as v
from ntpcompanion.flatness.model import ConditionalModel
from ntpcompanion.flatness.toy_models import bernoulli, linear_product
from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.dyck.test_wrong_calls import RIGHT as DYCK
from tests.flatness.test_wrong_calls import RIGHT as FLATNESS
from tests.languages.test_wrong_calls import RIGHT as LANGUAGES
from tests.mistakes import made_fresh
from tests.test_wrong_calls import RIGHT

MASKED = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda: v.as_integer("n", 2.0), "`n` must be an integer, got 2.0."),
        (lambda: v.as_integer("n", True), "`n` must be an integer, got True."),
        (lambda: v.as_integer("n", "2"), "`n` must be an integer, got '2'."),
        (lambda: v.as_integer("n", None), "`n` must be an integer, got None."),
        (
            lambda: v.as_integer("n", np.ones(2)),
            "`n` must be an integer, got a numpy.ndarray of float64 with shape (2,).",
        ),
        (lambda: v.as_integer("n", 0, 1), "`n` must be at least 1, got 0."),
        (lambda: v.as_integer("n", 5, 1, 4, "(`V`)"), "`n` must lie in 1 … 4 (`V`), got 5."),
        (lambda: v.as_number("x", "1"), "`x` must be a number, got '1'."),
        (lambda: v.as_number("x", False), "`x` must be a number, got False."),
        (lambda: v.as_number("x", 1j), "`x` must be a number, got 1j."),
        (lambda: v.as_number("x", [1, 2]), "`x` must be a number, got a list."),
        (lambda: v.as_number("x", np.inf), "`x` must be a finite number, got inf."),
        (lambda: v.as_positive("x", 0), "`x` must be positive and finite, got 0.0."),
        (lambda: v.as_positive("x", np.nan), "`x` must be positive and finite, got nan."),
        (lambda: v.as_positive("x", -1, "as a rate"), "positive and finite, as a rate, got -1.0."),
        (lambda: v.as_number("x", -1, 0), "`x` must be at least 0, got -1.0."),
        (lambda: v.as_between("x", np.nan, 0, 1), "`x` must lie between 0 and 1, got nan."),
        (lambda: v.as_between("x", 1, 0, 1, "a gap"), "between 0 and 1, a gap, got 1.0."),
        (lambda: v.as_array("E", "abc"), "`E` must be an array of numbers, got 'abc'."),
        (lambda: v.as_array("E", ["1", "2"]), "`E` must be an array of numbers, got a list."),
        (lambda: v.as_array("E", [[1], [1, 2]]), "`E` must be an array of numbers, got a list: "),
        (lambda: v.as_array("E", np.ones(2) * 1j), "of complex128 with shape (2,)."),
        (lambda: v.as_array("E", pd.Series(["1", 2])), "got a pandas.Series of object"),
        (lambda: v.as_array("E", [pd.NA]), "`E` must be an array of numbers, got a list: "),
        (lambda: v.as_array("E", MASKED), "`E` is a masked array with 1 masked entries"),
        (lambda: v.as_integer_array("t", [0.0]), "got a numpy.ndarray of float64 with shape (1,)."),
        (lambda: v.as_integer_array("t", [True]), "`t` must be an array of integers"),
        (lambda: v.as_matrix("E", np.ones(2), (None, 3)), "a matrix of shape (any, 3), got shape"),
        (lambda: v.as_matrix("E", np.ones((0, 3)), (None, 3)), "got shape (0, 3)."),
        (lambda: v.as_matrix("E", [[np.nan]], (1, 1)), "`E` holds nan (1 entries are not finite)."),
        (lambda: v.as_shaped("p", 1.0, (3,)), "`p` must be a vector of length 3, got shape ()."),
        (lambda: v.as_shaped("p", [[1.0]], (None,)), "`p` must be a vector, got shape (1, 1)."),
        (lambda: v.as_shaped("p", 1.0, (1, None, 2), "a b"), "an array of shape (1, any, 2), a b,"),
        (lambda: v.check_not_negative("p", np.array([-1.0])), "`p` holds the negative entry -1."),
        (lambda: v.check_sums("p", np.array([1, 0.5])), "`p` row 1 sums to 0.5, not to 1 within"),
        (lambda: v.check_sums("p", np.float64(0.5)), "`p` sums to 0.5, not to 1 within 1e-08."),
        (lambda: v.check_choice("m", "a", ("b", "c")), "`m` must be one of 'b', 'c', got 'a'."),
        (lambda: v.check_choice("m", ["b"], ("b", "c")), "must be one of 'b', 'c', got a list."),
        (lambda: v.check_flag("c", "yes"), "`c` must be True or False, got 'yes'."),
        (lambda: v.check_flag("c", 1), "`c` must be True or False, got 1."),
        (lambda: v.check_instance("t", [1], ContextTable), "must be a ContextTable, got a list."),
        (lambda: v.check_callable("f", 3), "`f` must be a function, got 3."),
        (lambda: v.check_generator("rng", 0), "`rng` must be a numpy.random.Generator, got 0. Use"),
        (lambda: v.check_torch_generator("g", 0), "`g` must be a torch.Generator, got 0. Use"),
        (lambda: v.check_tensor("x", [1]), "`x` must be a torch.Tensor, got a list. Wrap it"),
        (lambda: v.check_flag("c", "y" * 99), "True or False, got '" + "y" * 56 + "…."),
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
    v.check_flag("c", np.True_)


def rng():
    return np.random.default_rng(0)


TOY = bernoulli(0.8, 2.0)
TABLE = RIGHT["descend"][1]["table"]
TEXT = {"tokens": np.arange(3), "vocab_size": 3, "context_length": 1, "dim": 2, "rng": rng}
CALLS_OF_ONE = {
    "bernoulli": (bernoulli, {"a": 1.0}),
    "cross_entropy": (TABLE.cross_entropy, {}),
    "excess": (TABLE.excess, {}),
    "from_tokens": (ContextTable.from_tokens, TEXT),
    "hmm": (HMM, {"initial": [1.0], "transition": [[1.0]], "emission": [[1.0]], "length": 2}),
    "linear_product": (linear_product, {"rng": rng}),
    "table": (ContextTable, {"embeddings": [[1.0]], "next_token": [[1.0, 0.0]], "weight": [1.0]}),
}
CALLS = {**DYCK, **LANGUAGES, **FLATNESS, **RIGHT, **CALLS_OF_ONE}
# a mistake, what is said of it after the name of the argument, and where it may be made
SAME_MISTAKE_SAME_SENTENCE = [
    (
        0,
        "must be a numpy.random.Generator, got 0. Use np.random.default_rng(seed).",
        "random.rng from_tokens.rng descend.rng recurrent_states.rng random_block_hmm.rng "
        "random_levelled_pcfg.rng follow_sgd.rng linear_product.rng random_features.rng "
        "learning_curve.rng follow_label_noise.rng",
    ),
    (
        7,
        "must be a torch.Generator, got 7. Use torch.Generator().manual_seed(seed).",
        "HMM.sample.generator PCFG.sample.generator estimate_entropy_floor.generator "
        "fisher_trace.generator hutchinson_trace.generator",
    ),
    (
        "many",
        "must be an integer, got 'many'.",
        "check_separability.max_iterations solve_ntp_svm.max_iterations descend.steps "
        "predicted_threshold.vocab_size HMM.sample.n PCFG.sample.n encode.vocab_size "
        "count_contexts.vocab_size fisher_trace.labels_per_input hutchinson_trace.probes "
        "follow_ode.points balanced_sentences.T success_probability.n random_features.width",
    ),
    (
        np.nan,
        "must be an integer, got nan.",
        "check_separability.max_iterations solve_ntp_svm.max_iterations "
        "check_compatibility.max_iterations hmm.length fisher_trace.chunk_size transferable.T",
    ),
    (
        True,
        "must be an integer, got True.",
        "solve_ntp_svm.max_iterations random.dim HMM.sample.n hutchinson_trace.probes "
        "follow_ode.batch_size success_probability.n",
    ),
    (
        -3,
        "must be at least 1, got -3.",
        "check_separability.max_iterations random.num_contexts hmm.length "
        "PCFG.length_distribution.max_length fisher_trace.labels_per_input follow_sgd.replicas "
        "random_features.width",
    ),
    (
        "far",
        "must be a number, got 'far'.",
        "check_separability.time_limit solve_ntp_svm.tol gradient_flow.tol descend.learning_rate "
        "random_levelled_pcfg.stop follow_ode.horizon bernoulli.probability "
        "follow_trace_flow.horizon",
    ),
    (
        np.nan,
        "must be positive and finite, got nan.",
        "solve_ntp_svm.time_limit follow_ode.horizon follow_sgd.learning_rate "
        "follow_trace_flow.horizon",
    ),
    (
        "numbers",
        "must be an array of numbers, got 'numbers'.",
        "table.embeddings table.next_token cross_entropy.W project_onto_F.W "
        "excess_bound.finite_part regularization_path.radii hmm.initial PCFG.binary "
        "ConditionalModel.distributions mean_and_error.values Parameters.u predict.inputs",
    ),
    (
        MASKED,
        "is a masked array with 1 masked entries, and its mask would be ignored. Fill them or "
        "leave them out.",
        "table.embeddings table.next_token excess.W HMM.transition count_contexts.tokens "
        "ConditionalModel.distributions Parameters.W_V mask_each.sentences",
    ),
    (
        [[0.5, 0.4]],
        "row 0 sums to 0.9, not to 1 within 1e-08. Divide each row by its sum in float64.",
        "table.next_token hmm.emission ConditionalModel.distributions",
    ),
    (
        np.array([[np.nan, 0.4]]),
        "holds nan (1 entries are not finite). Remove or replace them.",
        "table.next_token hmm.emission ConditionalModel.distributions",
    ),
    (
        torch.tensor([np.nan, 0.4], dtype=torch.float64),
        "holds nan (1 entries are not finite). Remove or replace them.",
        "full_hessian.theta Parameters.u",
    ),
    (
        [1.0, 2.0],
        "must be a torch.Tensor, got a list. Wrap it in torch.tensor.",
        "HMM.log_prob.tokens fisher_trace.theta fisher_trace.inputs follow_sgd.start",
    ),
    (
        5,
        "must be even and at least 2, got 5. A balanced sentence has as many ⟨ as ⟩.",
        "balanced_sentences.T dyck_sentences.T downstream_strings.T masked_support.T circulant.T",
    ),
    (
        14,
        "must be at most 12, got 14. All sentences are enumerated, and longer ones do not fit in "
        "memory.",
        "balanced_sentences.T downstream_strings.T",
    ),
    ("best", "must be one of 'dual', 'cvxpy', got 'best'.", "solve_ntp_svm.method"),
    ("best", "must be one of 'gd', 'ngd', 'adam', 'sgd', got 'best'.", "descend.optimizer"),
    ("best", "must be one of 'posterior', 'inside', got 'best'.", "span_labels.by"),
    ("best", "must be one of 'random', 'fixed', got 'best'.", "masked_support.mask_sign"),
]
PLACES = [
    pytest.param(mistake, sentence, *place.rpartition(".")[::2], id=f"{number}-{place}")
    for number, (mistake, sentence, places) in enumerate(SAME_MISTAKE_SAME_SENTENCE)
    for place in places.split()
]


@pytest.mark.parametrize(("mistake", "sentence", "call", "argument"), PLACES)
@pytest.mark.usefixtures("unchecked_shapes")
def test_the_same_mistake_gets_the_same_sentence_in_every_room(mistake, sentence, call, argument):
    function, arguments = CALLS[call]
    with pytest.raises(ValueError) as rejection:
        function(**made_fresh(arguments) | {argument: mistake})
    assert str(rejection.value) == f"`{argument}` {sentence}"


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


def test_a_table_of_single_precision_is_told_so():
    with pytest.raises(ValueError, match=r"`initial` sums to 1\.0000000\d+, .* in float64"):
        HMM(torch.tensor([0.4, 0.6]), torch.eye(2), torch.eye(2), 2)


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

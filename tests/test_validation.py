"""Every rejection once, and the same mistake with the same sentence in every room."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

from ntpcompanion import validation as v
from ntpcompanion.dyck.bracket_counting import learning_curve, success_probability
from ntpcompanion.dyck.bracket_transformer import Parameters, predict
from ntpcompanion.dyck.minimizer_path import follow_label_noise, follow_trace_flow
from ntpcompanion.dyck.sentences import balanced_sentences, mask_each, masked_support
from ntpcompanion.dyck.solutions import random_features, transferable
from ntpcompanion.flatness.averages import mean_and_error
from ntpcompanion.flatness.drift import follow_ode
from ntpcompanion.flatness.ensemble import follow_sgd
from ntpcompanion.flatness.hessian import full_hessian
from ntpcompanion.flatness.model import ConditionalModel
from ntpcompanion.flatness.toy_models import bernoulli, linear_product
from ntpcompanion.flatness.trace import fisher_trace, hutchinson_trace
from ntpcompanion.languages.grammars.levelled_grammars import random_levelled_pcfg, span_labels
from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.languages.language import estimate_entropy_floor
from ntpcompanion.languages.random_hmms import random_block_hmm
from ntpcompanion.languages.text.counting import count_contexts
from ntpcompanion.languages.text.words import encode
from ntpcompanion.linear.dynamics.descent import descend
from ntpcompanion.linear.dynamics.excess_bounds import excess_bound
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.dynamics.regularization_path import regularization_path
from ntpcompanion.linear.separability.decision import (
    check_compatibility,
    check_separability,
    project_onto_F,
)
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.autoregressive import recurrent_states
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.linear.thresholds.threshold import predicted_threshold

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
        (lambda: v.check_device("d", "gpu"), "`d` must be a device of torch, such as 'cpu' or"),
        (lambda: v.check_device("d", 3.5), "such as 'cpu' or 'cuda', got 3.5."),
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
    for device in (None, "cpu", torch.device("cpu")):
        v.check_device("device", device)


TABLE = ContextTable.random(4, 3, 1, 6, np.random.default_rng(0))
TOY = bernoulli(0.8, 2.0)
HALF = torch.full((2,), 0.5, dtype=torch.float64)
LANGUAGE = HMM(HALF, torch.eye(2), torch.eye(2), 3)
GRAMMAR = PCFG(torch.ones(1), torch.full((1, 1, 1), 0.5), torch.full((1, 1), 0.5))


def fisher(**change):
    arguments = {
        "logits": lambda t, x: x * t,
        "theta": torch.ones(2).double(),
        "inputs": torch.ones(3, 2).double(),
        "labels_per_input": 1,
        "generator": torch.Generator(),
    } | change
    return fisher_trace(**arguments)


def probed(probes=2, generator=None):
    theta = torch.ones(2).double()
    generator = torch.Generator() if generator is None else generator
    return hutchinson_trace(lambda t: t.square().sum(), theta, probes=probes, generator=generator)


def descending(**change):
    arguments = {
        "optimizer": "gd",
        "learning_rate": 0.1,
        "steps": 2,
        "keep": 1,
        "rng": np.random.default_rng(0),
    } | change
    return descend(TABLE, **arguments)


def rng():
    return np.random.default_rng(0)


# a mistake, the sentence with the argument's name left out, and calls by argument
SAME_MISTAKE_SAME_SENTENCE = [
    (
        0,
        "must be a numpy.random.Generator, got 0. Use np.random.default_rng(seed).",
        {
            "linear": ("rng", lambda x: ContextTable.random(3, 3, 1, 2, x)),
            "linear text": ("rng", lambda x: ContextTable.from_tokens(np.arange(3), 3, 1, 2, x)),
            "linear descent": ("rng", lambda x: descending(rng=x)),
            "linear states": ("rng", lambda x: recurrent_states(np.zeros((1, 2), int), 2, 2, x)),
            "languages": ("rng", lambda x: random_block_hmm(x)),
            "languages grammar": ("rng", lambda x: random_levelled_pcfg(x)),
            "flatness": ("rng", lambda x: follow_sgd(TOY.model, TOY.start, 0.1, 2, 1, 2, x)),
            "flatness models": ("rng", lambda x: linear_product(x)),
            "dyck": ("rng", lambda x: random_features(4, 50, x)),
            "dyck curve": ("rng", lambda x: learning_curve(transferable(4), [1], 2, x)),
            "dyck valley": (
                "rng",
                lambda x: follow_label_noise(transferable(4), 0.1, 2, x, label_noise=0.0),
            ),
        },
    ),
    (
        7,
        "must be a torch.Generator, got 7. Use torch.Generator().manual_seed(seed).",
        {
            "languages": ("generator", lambda x: LANGUAGE.sample(2, x)),
            "languages grammar": ("generator", lambda x: GRAMMAR.sample(2, x, max_length=3)),
            "languages floor": ("generator", lambda x: estimate_entropy_floor(LANGUAGE, 2, x)),
            "flatness": ("generator", lambda x: fisher(generator=x)),
            "flatness probes": ("generator", lambda x: probed(generator=x)),
        },
    ),
    (
        "many",
        "must be an integer, got 'many'.",
        {
            "linear": ("max_iterations", lambda x: check_separability(TABLE, max_iterations=x)),
            "linear svm": ("max_iterations", lambda x: solve_ntp_svm(TABLE, max_iterations=x)),
            "linear steps": ("steps", lambda x: descending(steps=x)),
            "linear threshold": ("vocab_size", lambda x: predicted_threshold(x, 1)),
            "languages": ("n", lambda x: LANGUAGE.sample(x, torch.Generator())),
            "languages grammar": ("n", lambda x: GRAMMAR.sample(x, torch.Generator())),
            "languages words": ("vocab_size", lambda x: encode(["a"], x)),
            "languages counts": ("vocab_size", lambda x: count_contexts([0, 1], x, [1])),
            "flatness": ("labels_per_input", lambda x: fisher(labels_per_input=x)),
            "flatness probes": ("probes", lambda x: probed(x)),
            "flatness flow": ("points", lambda x: follow_ode(TOY.model, TOY.start, 1.0, points=x)),
            "dyck": ("T", balanced_sentences),
            "dyck chance": ("n", lambda x: success_probability(4, x)),
            "dyck width": ("width", lambda x: random_features(4, x, rng())),
        },
    ),
    (
        np.nan,
        "must be an integer, got nan.",
        {
            "linear": ("max_iterations", lambda x: check_separability(TABLE, max_iterations=x)),
            "linear svm": ("max_iterations", lambda x: solve_ntp_svm(TABLE, max_iterations=x)),
            "linear ties": (
                "max_iterations",
                lambda x: check_compatibility(TABLE, max_iterations=x),
            ),
            "languages": ("length", lambda x: HMM([1.0], [[1.0]], [[1.0]], x)),
            "flatness": ("chunk_size", lambda x: fisher(chunk_size=x)),
            "dyck": ("T", transferable),
        },
    ),
    (
        True,
        "must be an integer, got True.",
        {
            "linear": ("max_iterations", lambda x: solve_ntp_svm(TABLE, max_iterations=x)),
            "linear sizes": ("dim", lambda x: ContextTable.random(3, 3, 1, x, rng())),
            "languages": ("n", lambda x: LANGUAGE.sample(x, torch.Generator())),
            "flatness": ("probes", lambda x: probed(x)),
            "flatness batch": (
                "batch_size",
                lambda x: follow_ode(TOY.model, TOY.start, 1.0, batch_size=x),
            ),
            "dyck": ("n", lambda x: success_probability(4, x)),
        },
    ),
    (
        -3,
        "must be at least 1, got -3.",
        {
            "linear": ("max_iterations", lambda x: check_separability(TABLE, max_iterations=x)),
            "linear sizes": ("num_contexts", lambda x: ContextTable.random(x, 3, 1, 2, rng())),
            "languages": ("length", lambda x: HMM([1.0], [[1.0]], [[1.0]], x)),
            "languages lengths": ("max_length", lambda x: GRAMMAR.length_distribution(x)),
            "flatness": ("labels_per_input", lambda x: fisher(labels_per_input=x)),
            "flatness replicas": (
                "replicas",
                lambda x: follow_sgd(TOY.model, TOY.start, 0.1, 2, 1, x, rng()),
            ),
            "dyck": ("width", lambda x: random_features(4, x, rng())),
        },
    ),
    (
        "far",
        "must be a number, got 'far'.",
        {
            "linear": ("time_limit", lambda x: check_separability(TABLE, time_limit=x)),
            "linear svm": ("tol", lambda x: solve_ntp_svm(TABLE, tol=x)),
            "linear flow": ("tol", lambda x: gradient_flow(TABLE, [1.0], tol=x)),
            "linear rate": ("learning_rate", lambda x: descending(learning_rate=x)),
            "languages": ("stop", lambda x: random_levelled_pcfg(rng(), stop=x)),
            "flatness": ("horizon", lambda x: follow_ode(TOY.model, TOY.start, x)),
            "flatness models": ("probability", lambda x: bernoulli(x, 1.0)),
            "dyck": ("horizon", lambda x: follow_trace_flow(transferable(4), x)),
        },
    ),
    (
        np.nan,
        "must be positive and finite, got nan.",
        {
            "linear": ("time_limit", lambda x: solve_ntp_svm(TABLE, time_limit=x)),
            "flatness": ("horizon", lambda x: follow_ode(TOY.model, TOY.start, x)),
            "flatness rate": (
                "learning_rate",
                lambda x: follow_sgd(TOY.model, TOY.start, x, 2, 1, 2, rng()),
            ),
            "dyck": ("horizon", lambda x: follow_trace_flow(transferable(4), x)),
        },
    ),
    (
        "numbers",
        "must be an array of numbers, got 'numbers'.",
        {
            "linear": ("embeddings", lambda x: ContextTable(x, [[1.0, 0.0]], [1.0])),
            "linear distributions": ("next_token", lambda x: ContextTable([[1.0]], x, [1.0])),
            "linear decoder": ("W", lambda x: TABLE.cross_entropy(x)),
            "linear projection": ("W", lambda x: project_onto_F(TABLE, x)),
            "linear bound": ("finite_part", lambda x: excess_bound(TABLE, x, 1.0)),
            "linear radii": ("radii", lambda x: regularization_path(TABLE, x)),
            "languages": ("initial", lambda x: HMM(x, [[1.0]], [[1.0]], 2)),
            "languages grammar": ("binary", lambda x: PCFG([1.0], x, [[0.6]])),
            "flatness": ("distributions", lambda x: ConditionalModel(TOY.model.logits, x, [1.0])),
            "flatness means": ("values", mean_and_error),
            "dyck": ("u", lambda x: Parameters(np.eye(4), np.eye(4), np.ones((1, 4)), x)),
            "dyck inputs": ("inputs", lambda x: predict(transferable(4), x)),
        },
    ),
    (
        MASKED,
        "is a masked array with 1 masked entries, and its mask would be ignored. Fill them or "
        "leave them out.",
        {
            "linear": ("embeddings", lambda x: ContextTable(x, [[1.0, 0.0]], [1.0])),
            "linear distributions": ("next_token", lambda x: ContextTable([[1.0]], x, [1.0])),
            "linear decoder": ("W", lambda x: TABLE.excess(x)),
            "languages": ("transition", lambda x: HMM([0.5, 0.5], x, np.eye(2), 2)),
            "languages tokens": ("tokens", lambda x: count_contexts(x.astype(int), 5, [1])),
            "flatness": ("distributions", lambda x: ConditionalModel(TOY.model.logits, x, [1.0])),
            "dyck": ("W_V", lambda x: Parameters(np.eye(2), np.eye(2), x, np.ones(2))),
            "dyck sentences": ("sentences", lambda x: mask_each(x.astype(int), "fixed")),
        },
    ),
    (
        [[0.5, 0.4]],
        "row 0 sums to 0.9, not to 1 within 1e-08. Divide each row by its sum in float64.",
        {
            "linear": ("next_token", lambda x: ContextTable([[1.0]], x, [1.0])),
            "languages": ("emission", lambda x: HMM([1.0], [[1.0]], x, 2)),
            "flatness": ("distributions", lambda x: ConditionalModel(TOY.model.logits, x, [1.0])),
        },
    ),
    (
        np.array([[np.nan, 0.4]]),
        "holds nan (1 entries are not finite). Remove or replace them.",
        {
            "linear": ("next_token", lambda x: ContextTable([[1.0]], x, [1.0])),
            "languages": ("emission", lambda x: HMM([1.0], [[1.0]], x, 2)),
            "flatness": ("distributions", lambda x: ConditionalModel(TOY.model.logits, x, [1.0])),
            "flatness vector": (
                "theta",
                lambda x: full_hessian(lambda t: t.square().sum(), torch.tensor(x[0])),
            ),
            "dyck": ("W_V", lambda x: Parameters(np.eye(2), np.eye(2), x, np.ones(1))),
        },
    ),
    (
        [1.0, 2.0],
        "must be a torch.Tensor, got a list. Wrap it in torch.tensor.",
        {
            "languages": ("tokens", lambda x: LANGUAGE.log_prob(x)),
            "flatness": ("theta", lambda x: fisher(theta=x)),
            "flatness inputs": ("inputs", lambda x: fisher(inputs=x)),
            "flatness start": ("start", lambda x: follow_sgd(TOY.model, x, 0.1, 2, 1, 2, rng())),
        },
    ),
    (
        "best",
        None,
        {
            "linear": ("'dual', 'cvxpy'", lambda x: solve_ntp_svm(TABLE, method=x)),
            "linear descent": ("'gd', 'ngd', 'adam', 'sgd'", lambda x: descending(optimizer=x)),
            "languages": (
                "'posterior', 'inside'",
                lambda x: span_labels(GRAMMAR, torch.zeros(1, 1, dtype=torch.int64), 1, x),
            ),
            "dyck": ("'random', 'fixed'", lambda x: masked_support(4, x)),
        },
    ),
]
CALLS = [
    pytest.param(mistake, sentence, name, call, id=f"{mistake}-{room}".replace("\n", ""))
    for mistake, sentence, calls in SAME_MISTAKE_SAME_SENTENCE
    for room, (name, call) in calls.items()
]


@pytest.mark.parametrize(("mistake", "sentence", "name", "call"), CALLS)
@pytest.mark.usefixtures("unchecked_shapes")
def test_the_same_mistake_gets_the_same_sentence_in_every_room(mistake, sentence, name, call):
    with pytest.raises(ValueError) as rejection:
        call(mistake)
    if sentence is None:
        assert f"must be one of {name}, got {mistake!r}." in str(rejection.value)
    else:
        assert str(rejection.value) == f"`{name}` {sentence}"


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

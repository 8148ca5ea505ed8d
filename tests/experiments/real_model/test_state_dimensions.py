import numpy as np
import pytest

from ntpcompanion.experiments.real_model import state_dimensions
from ntpcompanion.experiments.real_model.model_text import load, read_contexts
from ntpcompanion.experiments.real_model.state_dimensions import (
    Plan,
    embed,
    orthonormal_columns,
    principal_coordinates,
    proved_sides,
    run,
)
from ntpcompanion.languages.pretrained.hidden_states import hidden_states
from ntpcompanion.linear import ContextTable
from ntpcompanion.linear.separability.decision import Separability, Verdict
from ntpcompanion.randomness import stream
from tests.oracles import largest_margin

KINDS = ("states", "shuffled", "Gaussian", "words", "principal")


def parts(model_text, kind):
    plan = Plan(**model_text, embeddings=kind, layer=2, vocab_size=4)
    loaded = load(plan)
    data = read_contexts(plan, loaded.tokenizer)
    return plan, loaded, data, embed(plan, loaded, data)


@pytest.mark.parametrize("kind", KINDS)
def test_the_threshold_is_that_of_a_linear_program(model_text, kind):
    plan, _, data, embeddings = parts(model_text, kind)
    support = data.merge_rare(4) > 0
    if kind == "shuffled":
        support = support[stream(plan.seed, "successors").permutation(plan.contexts)]
    result = run(plan)
    assert result == run(plan)
    unit = embeddings / np.linalg.norm(embeddings, axis=0)  # for the linear program
    separable = [
        d for d in range(1, embeddings.shape[1] + 1) if largest_margin(unit[:, :d], support) > 1e-9
    ]
    assert result.separable_from == min(separable, default=None)
    assert result.not_separable_to == min(separable, default=embeddings.shape[1] + 1) - 1
    assert result.contexts == plan.contexts
    assert (result.predicted is None) == (kind != "Gaussian")


def test_columns_span_what_those_of_the_matrix_span():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((9, 6)) * 10.0 ** rng.integers(-4, 4, 6)
    matrix = np.column_stack([matrix[:, :3], matrix[:, :3] @ [1, -2, 3], matrix[:, 3:]])
    columns = orthonormal_columns(matrix)
    assert not columns[:, 3].any()
    for k in range(1, 8):
        image = np.linalg.lstsq(columns[:, :k], matrix[:, :k], rcond=None)[0]
        assert np.allclose(columns[:, :k] @ image, matrix[:, :k])
    gram = columns.T @ columns
    assert gram == pytest.approx(np.diag([1, 1, 1, 0, 1, 1, 1]), abs=1e-13)


def test_an_undecided_dimension_is_passed_on_both_sides(monkeypatch):
    """Separable from 6 dimensions on; 3, 4 and 6 cannot be decided."""
    table, asked = ContextTable.random(12, 5, 2, 9, np.random.default_rng(0)), []

    def decide(first, *, max_iterations):
        asked.append(first.dim)
        assert max_iterations == 7
        verdict = Verdict.SEPARABLE if first.dim >= 6 else Verdict.NOT_SEPARABLE
        return Separability(Verdict.UNDECIDED if first.dim in {3, 4, 6} else verdict)

    monkeypatch.setattr(state_dimensions, "check_separability", decide)
    assert proved_sides(table, 7) == (7, 5)
    assert len(asked) == len(set(asked))
    monkeypatch.setattr(
        state_dimensions,
        "check_separability",
        lambda first, max_iterations: Separability(Verdict.NOT_SEPARABLE),
    )
    assert proved_sides(table, 7) == (None, 9)


@pytest.mark.parametrize("kind", ["states", "principal"])
def test_coordinates_keep_what_can_be_read_from_the_states(model_text, kind):
    """The states are a linear image of them, so that nothing is lost at full width."""
    plan, loaded, data, embeddings = parts(model_text, kind)
    states = hidden_states(loaded.model, data.contexts, loaded.bos, (plan.layer,)).states[0]
    image = np.linalg.lstsq(embeddings, states, rcond=None)[0]
    assert np.allclose(embeddings @ image, states)
    if kind == "states":  # and distances are the same
        assert np.allclose(embeddings @ embeddings.T, states @ states.T)


def test_principal_coordinates_have_falling_variances_and_the_largest_first():
    states = np.random.default_rng(1).standard_normal((30, 4)) * [1, 5, 2, 0.5] + 3
    coordinates = principal_coordinates(states)
    assert np.ptp(coordinates[:, 0]) == 0
    covariance = np.cov(coordinates[:, 1:], rowvar=False)
    falling = np.sort(np.linalg.eigvalsh(np.cov(states, rowvar=False)))[::-1]
    assert covariance == pytest.approx(np.diag(falling), abs=1e-12)


def test_words_at_one_place_contribute_equally_and_places_differently(model_text):
    """Sums over the words: exchanging the words of two contexts at one place keeps the total."""
    *_, data, embeddings = parts(model_text, "words")
    rows = {tuple(context): row for context, row in zip(data.contexts, embeddings, strict=True)}
    squares = [
        (a, b, c, d)
        for a, b in rows
        for c, d in rows
        if a < c and b < d and (a, d) in rows and (c, b) in rows
    ]
    assert squares
    for a, b, c, d in squares:
        assert np.allclose(rows[a, b] + rows[c, d], rows[a, d] + rows[c, b])
    a, b = next((a, b) for a, b in rows if a != b and (b, a) in rows)
    assert not np.allclose(rows[a, b], rows[b, a])

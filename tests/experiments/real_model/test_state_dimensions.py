import numpy as np
import pytest
from scipy.spatial.distance import pdist

from ntpcompanion.experiments.real_model import state_dimensions
from ntpcompanion.experiments.real_model.model_text import load, read_contexts
from ntpcompanion.experiments.real_model.state_dimensions import (
    Plan,
    embed,
    orthonormal_columns,
    proved_sides,
    run,
)
from ntpcompanion.languages.pretrained.hidden_states import hidden_states
from ntpcompanion.linear import ContextTable
from ntpcompanion.linear.separability.decision import Separability, Verdict
from ntpcompanion.randomness import stream
from tests.oracles import largest_margin

KINDS = ("states", "centred", "Gaussian", "shuffled", "same last token")


def parts(model_text, kind):
    plan = Plan(**model_text, embeddings=kind, layer=2)
    loaded = load(plan)
    data = read_contexts(plan, loaded.tokenizer)
    return plan, loaded, data, embed(plan, loaded, data)


@pytest.mark.parametrize("kind", KINDS)
def test_the_threshold_is_that_of_a_linear_program(model_text, kind):
    plan, _, data, embeddings = parts(model_text, kind)
    support, rng = data.counts > 0, stream(plan.seed, "successors")
    if kind in {"shuffled", "same last token"}:
        support = data.exchange(rng, same_last=kind == "same last token") > 0
    result = run(plan)
    assert result == run(plan)
    unit = embeddings / np.linalg.norm(embeddings, axis=0)  # for the linear program
    separable = [
        d for d in range(1, embeddings.shape[1] + 1) if largest_margin(unit[:, :d], support) > 1e-9
    ]
    assert result.separable_from == min(separable, default=None)
    assert result.not_separable_to == min(separable, default=embeddings.shape[1] + 1) - 1
    assert (result.contexts, result.tokens) == (plan.contexts, len(data.successors))
    assert result.moved == (support != (data.counts > 0)).any(axis=1).mean()
    assert (result.moved > 0) == (kind in {"shuffled", "same last token"})


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
    assert proved_sides(table, 7, 4) == (7, 5)
    assert len(asked) == len(set(asked))
    monkeypatch.setattr(
        state_dimensions,
        "check_separability",
        lambda first, max_iterations: Separability(Verdict.NOT_SEPARABLE),
    )
    assert proved_sides(table, 7, 4) == (None, 9)
    wide = ContextTable.random(60, 5, 2, 60, np.random.default_rng(0))

    def decide_outside(first, *, max_iterations):
        verdict = Verdict.SEPARABLE if first.dim >= 45 else Verdict.NOT_SEPARABLE
        return Separability(Verdict.UNDECIDED if 20 <= first.dim <= 40 else verdict)

    monkeypatch.setattr(state_dimensions, "check_separability", decide_outside)
    assert proved_sides(wide, 7, 3) == (45, 15)
    failed = []

    def fail(first, max_iterations):
        failed.append(first.dim)
        return Separability(Verdict.UNDECIDED)

    monkeypatch.setattr(state_dimensions, "check_separability", fail)
    assert proved_sides(table, 7, 3) == (None, 0)
    assert len(failed) == 3


@pytest.mark.parametrize("kind", ["states", "centred"])
def test_coordinates_keep_the_distances_of_the_states(model_text, kind):
    plan, loaded, data, embeddings = parts(model_text, kind)
    states = hidden_states(loaded.model, data.contexts, loaded.bos, (plan.layer,)).states[0]
    assert pdist(embeddings) == pytest.approx(pdist(states))
    mean = np.linalg.norm(embeddings.mean(axis=0))
    assert mean == pytest.approx(np.linalg.norm(states.mean(axis=0)) * (kind == "states"))

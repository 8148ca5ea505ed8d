from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from ntpcompanion.linear.separability import decision as separability
from ntpcompanion.linear.separability.decision import (
    Separability,
    Verdict,
    check_separability,
)
from ntpcompanion.linear.separability.exact_certificates import MAX_UNKNOWNS
from ntpcompanion.linear.separability.feasibility_search import project_signs
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import degenerate_tables, table
from tests.oracles import largest_margin, refutes, separates

# equal embeddings, different supports
TWINS = table([[1, 0], [1, 0], [0, 1]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])


def proof_holds(found, given_table):
    """The conditions of equation (6), or of Farkas, read by an oracle that does not know the
    solver.
    """
    support = given_table.support.toarray()
    if found.verdict is Verdict.SEPARABLE:
        return separates(
            given_table.embeddings.tolist(), support.tolist(), found.weights.tolist(), slack=1e-8
        )
    unit = given_table.embeddings / np.maximum(
        np.linalg.norm(given_table.embeddings, axis=1, keepdims=True), 1e-300
    )
    weighted = found.certificate * np.linalg.norm(given_table.embeddings, axis=1, keepdims=True)
    scaled = np.where(
        np.any(given_table.embeddings, axis=1, keepdims=True), weighted, found.certificate
    )
    return refutes(
        unit.tolist(), support.tolist(), (scaled / np.abs(scaled).max()).tolist(), slack=1e-9
    )


@settings(max_examples=300)
@given(degenerate_tables())
def test_the_verdict_is_that_of_a_linear_program_and_carries_its_proof(given_table):
    unit = given_table.embeddings / np.maximum(
        np.linalg.norm(given_table.embeddings, axis=1, keepdims=True), 1e-300
    )
    margin = largest_margin(unit, given_table.support.toarray())
    found = check_separability(given_table)
    assert found.verdict is (Verdict.SEPARABLE if margin > 1e-7 else Verdict.NOT_SEPARABLE)
    assert proof_holds(found, given_table)
    assert (
        (found.weights is None)
        == (found.verdict is Verdict.NOT_SEPARABLE)
        == (found.certificate is not None)
    )
    assert found.verify(given_table).holds


@settings(max_examples=150)
@given(degenerate_tables())
def test_integer_embeddings_are_proved_over_fractions(given_table):
    integers = ContextTable(
        np.rint(given_table.embeddings), given_table.next_token, given_table.weight
    )
    found = check_separability(integers)
    verified = found.verify(integers)
    reads = separates if found.verdict is Verdict.SEPARABLE else refutes
    assert verified.holds
    assert reads(
        np.rint(given_table.embeddings).astype(int).tolist(),
        integers.support.toarray().tolist(),
        verified.exact,
    )


@pytest.mark.parametrize(
    ("m", "V", "size", "dims"),
    [(40, 10, 1, range(7, 15, 2)), (40, 10, 4, range(20, 30, 2))],
)
def test_near_the_threshold_both_answers_come_and_agree_with_a_linear_program(m, V, size, dims):
    seen = Counter()
    for dim in dims:
        drawn = ContextTable.random(m, V, size, dim, np.random.default_rng([m, dim]))
        found = check_separability(drawn)
        seen[found.verdict] += 1
        assert proof_holds(found, drawn)
        assert (found.verdict is Verdict.SEPARABLE) == (
            largest_margin(drawn.embeddings, drawn.support.toarray()) > 1e-7
        )
    assert min(seen[Verdict.SEPARABLE], seen[Verdict.NOT_SEPARABLE]) > 0


def test_twins_with_different_supports_are_never_separable_whatever_the_rest():
    found = check_separability(TWINS)
    assert found.verdict is Verdict.NOT_SEPARABLE
    assert np.allclose(found.certificate[2], 0), (
        "no certificate leans on a context that can be separated"
    )
    assert found.verify(TWINS).exact is not None


@pytest.mark.parametrize(
    ("embeddings", "support", "verdict"),
    [
        ([[0, 0]], [[1, 0]], Verdict.NOT_SEPARABLE),  # all logits of a zero embedding are equal
        ([[5]], [[0, 1, 0]], Verdict.SEPARABLE),
        ([[1], [-1]], [[1, 0], [0, 1]], Verdict.SEPARABLE),
        # parallel embeddings, opposite wishes
        ([[1], [2]], [[1, 0], [0, 1]], Verdict.NOT_SEPARABLE),
        # the tie of the full context forbids the margin of the other
        ([[1], [-1]], [[1, 1], [0, 1]], Verdict.NOT_SEPARABLE),
        ([[1, 1], [1, 1]], [[1, 0, 0], [1, 0, 0]], Verdict.SEPARABLE),
        # embeddings that differ in the ninth digit
        ([[10**8, 1], [10**8, 2]], [[1, 0], [0, 1]], Verdict.SEPARABLE),
    ],
)
def test_tables_one_can_decide_by_hand(embeddings, support, verdict):
    by_hand = table(embeddings, support)
    found = check_separability(by_hand)
    assert found.verdict is verdict
    assert found.verify(by_hand).exact is not None


def test_ties_that_lengths_blow_up_are_corrected_in_the_decoder_itself():
    plain = ContextTable.random(8, 5, 3, 10, np.random.default_rng(5))
    scaled = ContextTable(
        plain.embeddings * np.resize([1e-3, 1.0, 1e3], 8)[:, None], plain.next_token, plain.weight
    )
    found = check_separability(scaled, max_iterations=100)
    assert found.verdict is Verdict.SEPARABLE
    assert proof_holds(found, scaled)


def test_a_search_that_runs_out_says_so_with_its_gap(rng):
    hard = ContextTable.random(80, 10, 6, 61, rng)
    found = check_separability(hard, max_iterations=3)
    assert (found.verdict, found.weights, found.certificate) == (Verdict.UNDECIDED, None, None)
    assert 0 < found.gap < 1
    assert found.verify(hard).holds is False
    assert found.verify(hard).floats is None
    assert check_separability(hard).gap == 0


def test_margins_lost_in_rounding_are_left_undecided():
    beyond = table([[1e-300, 0], [0, 1e300]], [[1, 0], [0, 1]])
    assert check_separability(beyond, max_iterations=200).verdict is Verdict.UNDECIDED


def test_verification_reads_the_proof_and_not_the_verdict(rng):
    drawn = ContextTable.random(6, 4, 2, 8, rng)
    found = check_separability(drawn)
    assert found.verify(drawn).holds
    assert not Separability(Verdict.SEPARABLE, weights=0.99 * found.weights).verify(drawn).holds
    assert not Separability(Verdict.NOT_SEPARABLE, certificate=np.zeros((6, 4))).verify(drawn).holds
    flipped = Separability(
        Verdict.NOT_SEPARABLE, certificate=-check_separability(TWINS).certificate
    )
    assert not flipped.verify(TWINS).holds


def test_a_float_proof_that_fails_over_fractions_does_not_hold():
    # separable, but this Γ cancels to nine digits
    nearly = table([[10**9, 1], [10**9, 2]], [[1, 0], [0, 1]])
    forged = Separability(Verdict.NOT_SEPARABLE, certificate=np.array([[1.0, -1.0], [-1.0, 1.0]]))
    verified = forged.verify(nearly)
    assert (verified.holds, verified.exact) == (False, None)


def test_large_integer_tables_are_verified_in_floats_only(rng):
    drawn = ContextTable.random(30, MAX_UNKNOWNS // 10, 3, 30, rng)
    large = ContextTable(np.rint(10 * drawn.embeddings), drawn.next_token, drawn.weight)
    verified = check_separability(large).verify(large)
    assert verified.holds
    assert verified.exact is None


def test_one_step_is_allowed(rng):
    assert check_separability(ContextTable.random(2, 4, 1, 8, rng), max_iterations=1).verdict in (
        Verdict.SEPARABLE,
        Verdict.UNDECIDED,
    )


def test_stretching_the_embeddings_of_a_separable_table_keeps_its_verdict():
    found = 0
    for seed in range(25):
        short = ContextTable.random(10, 6, 3, 8, np.random.default_rng(seed))
        if check_separability(short, max_iterations=700).verdict is Verdict.SEPARABLE:
            found += 1
            stretched = ContextTable(
                short.embeddings * np.logspace(-3, 3, 10)[:, None], short.next_token, short.weight
            )
            answer = check_separability(stretched, max_iterations=700)
            assert answer.verdict is Verdict.SEPARABLE
            assert answer.verify(stretched).holds
    assert found > 10


def test_the_gap_is_that_of_the_projected_goal(monkeypatch):
    """Of a search whose descents stand still."""
    for name in ("minimize_to_decoder", "minimize_to_certificate"):
        monkeypatch.setattr(separability, name, lambda basis, support, start, *how: start)
    # the basis does not span R³: not every Γ has a gap of 1
    more = table([[1, 0], [0, 1], [1, 2]], [[1, 0, 0], [0, 1, 1], [0, 1, 0]])
    state = separability._Search(more)
    state.X = np.array([[0.3, -0.2, 0.1], [0.4, 0.2, -0.5]])
    list(state.attempts(10))
    gamma = project_signs(
        np.array([[0, -1.0, -1], [-1, 0, 0], [-1, 0, -1]]) - state.basis @ state.X, state.support
    )
    assert state.gap == pytest.approx(np.linalg.norm(state.basis.T @ gamma) / np.linalg.norm(gamma))

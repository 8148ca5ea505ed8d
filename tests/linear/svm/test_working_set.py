"""The certificate of the solver for large tables, read by the dense proofs and by peers."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from ntpcompanion.linear import ContextTable, solve_ntp_svm
from ntpcompanion.linear.separability.certificates import check_weights
from ntpcompanion.linear.svm.working_set import _Search, solve_large_svm
from ntpcompanion.linear.tables.large_tables import planted_table
from ntpcompanion.randomness import stream


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [1, 4])
def test_the_dense_proofs_confirm_decoder_and_dual(seed, size):
    table = planted_table(50, 16, size, 14, stream(seed, f"large {size}"))
    found = solve_large_svm(table)
    assert found.verdict.name == "SEPARABLE"
    assert 0 <= found.duality_gap <= 1e-6
    proof = check_weights(table, found.weights)
    assert proof.smallest_margin >= 1 - 1e-9
    assert proof.tie_error <= found.tie_violation + 1e-12 <= 1e-7
    gamma = found.dual.toarray()
    assert np.abs(gamma.sum(axis=1)).max() <= 1e-10 * np.abs(gamma).max()
    assert gamma[~table.support.toarray()].max() <= 0
    assert gap_of(table, found) == pytest.approx(found.duality_gap, abs=1e-12)


def gap_of(table, found):
    """By weak duality, from what is returned: a decoder made anew from Γ may have another gap."""
    gamma = found.dual.toarray()
    lower = gamma[~table.support.toarray()].sum() / np.linalg.norm(gamma.T @ table.embeddings)
    return 1 - (lower / np.linalg.norm(found.weights)) ** 2


@pytest.mark.parametrize("method", ["dual", "cvxpy"])
def test_norm_and_decoder_are_those_of_the_dense_solvers(method):
    table = planted_table(14, 6, 2, 7, stream(0, "peer"))
    ours, peer = solve_large_svm(table, tol=1e-7), solve_ntp_svm(table, tol=1e-6, method=method)
    np.testing.assert_allclose(ours.weights, peer.weights, atol=3e-3)
    assert np.linalg.norm(ours.weights) == pytest.approx(np.linalg.norm(peer.weights), rel=2e-6)


def test_a_common_support_leaves_tokens_with_equal_logits_and_is_solved(rng):
    p = np.zeros((5, 60))
    p[:, 0] = 1
    table = ContextTable(rng.standard_normal((5, 12)), p, np.full(5, 0.2))
    found, peer = solve_large_svm(table), solve_ntp_svm(table)
    assert found.verdict.name == "SEPARABLE"
    assert np.linalg.norm(found.weights) == pytest.approx(np.linalg.norm(peer.weights), rel=1e-6)


def test_a_budget_that_is_too_small_ends_undecided_with_the_gap_reached():
    table = planted_table(60, 20, 3, 24, stream(0, "budget"))
    rounds = []
    found = solve_large_svm(table, max_products=1, callback=rounds.append)
    assert found.verdict.name == "UNDECIDED"
    assert found.duality_gap > 1e-6
    assert [one.gap for one in rounds] == [found.duality_gap]
    assert rounds[-1].iterations == found.products
    assert check_weights(table, found.weights).smallest_margin >= 1 - 1e-9
    assert gap_of(table, found) == pytest.approx(found.duality_gap, abs=1e-9)


def test_margins_that_no_scan_has_found_are_counted():
    """A Γ that is far too long: all margins are above those that a scan looks for."""
    table = planted_table(60, 80, 3, 24, stream(0, "long"))
    search = _Search(table)
    search.climb()
    state = search.state
    search.state = replace(state, gamma=1e3 * state.gamma, product=1e3 * state.product)
    search.scan(1e-6)
    weights, _, _ = search.best
    assert check_weights(table, weights).smallest_margin >= 1 - 1e-9


def test_a_table_that_is_not_separable_ends_undecided_without_weights():
    clash = ContextTable(np.ones((2, 2)), np.eye(2), np.full(2, 0.5))
    found = solve_large_svm(clash, max_products=200)
    assert (found.verdict.name, found.weights, found.duality_gap) == ("UNDECIDED", None, np.inf)


def test_a_time_limit_ends_after_a_scan():
    found = solve_large_svm(planted_table(60, 20, 3, 24, stream(0, "time")), time_limit=1e-9)
    assert found.scans == 2


def test_wrong_arguments_are_named():
    table = planted_table(8, 5, 1, 6, stream(0, "wrong"))
    zero = table.embeddings.copy()
    zero[3] = 0
    empty = ContextTable(zero, csr_array(table.next_token), table.weight)
    for given, words in (({"tol": 2.0}, "`tol`"), ({"max_products": 0}, "`max_products`")):
        with pytest.raises(ValueError, match=words):
            solve_large_svm(table, **given)
    with pytest.raises(ValueError, match=r"`table` must have no zero embedding.*context 3"):
        solve_large_svm(empty)


MEASURE = """
import numpy as np
from ntpcompanion.numerics.memory import forget_peak
from ntpcompanion.linear.svm.working_set import _Search, solve_large_svm
from ntpcompanion.linear.tables.large_tables import planted_table
def kib(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))
solve_large_svm(planted_table(20, 8, 2, 10, np.random.default_rng(0)))
forget_peak()
before = kib("VmRSS")
solve_large_svm(planted_table(8000, 2000, 1, 64, np.random.default_rng(0)), max_products=1)
print((kib("VmHWM") - before) / 1024)
"""


@pytest.mark.slow  # sizes at which memory shows
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are read from /proc")
def test_no_array_has_an_entry_for_each_pair_of_contexts_or_of_context_and_word():
    """Contexts times words would be 122 MiB in float64 and contexts squared 488; several of them
    would be needed.
    """
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert float(done.stdout) < 110

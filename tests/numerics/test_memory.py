import os
import sys

import numpy as np
import pytest
from scipy.sparse import eye_array

from ntpcompanion.linear.dynamics.descent import descend
from ntpcompanion.linear.separability.compatibility import check_compatibility
from ntpcompanion.linear.separability.decision import check_separability
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics import memory
from ntpcompanion.numerics.memory import GRAIN, check_dense, forget_peak, machine_memory, peak_gib


def test_what_fits_is_let_through_and_what_does_not_is_said(monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: 2**30)
    check_dense("table", 1, (2**14, 2**13))  # one GiB exactly
    words = (
        r"`table` is too large: 32 dense arrays of shape \(2000, 50000\) take 23\.8 GiB, and this "
        r"machine has 1 GiB\. Take fewer contexts or a smaller vocabulary\."
    )
    with pytest.raises(ValueError, match=words):
        check_dense("table", 32, (2000, 50_000))


def test_a_container_may_allow_less_than_the_machine_has(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "CONTAINER_LIMIT", limit)
    whole = machine_memory()
    assert whole == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit.write_text("max\n")
    assert machine_memory() == whole
    limit.write_text("123456\n")
    assert machine_memory() == 123456


def test_where_the_system_does_not_say_nothing_is_refused(monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    assert machine_memory() is None
    check_dense("table", 10**9, (10**9, 10**9))


@pytest.mark.parametrize(
    "solve",
    [check_separability, check_compatibility, solve_ntp_svm, lambda table: next(steps_of(table))],
)
def test_solvers_say_that_a_sparse_table_is_too_large_for_dense_arrays(solve, monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**6)
    size = 200
    sparse = ContextTable(np.ones((size, 1)), eye_array(size).tocsr(), np.full(size, 1 / size))
    with pytest.raises(ValueError, match=r"`table` is too large: \d+ dense arrays of shape \(200"):
        solve(sparse)
    assert sparse.cross_entropy(np.zeros((size, 1))) == pytest.approx(np.log(size))


def steps_of(table):
    return descend(
        table,
        optimizer="gd",
        learning_rate=1.0,
        steps=1,
        keep=1,
        rng=np.random.default_rng(0),
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are read from /proc")
def test_the_peak_counts_what_was_held_in_between_and_only_that():
    forget_peak()
    before = peak_gib()
    held = np.ones(2**27)  # 1 GiB
    assert held.sum() == 2**27
    del held
    assert peak_gib() - before in (2 * GRAIN, 3 * GRAIN)
    forget_peak()
    assert peak_gib() <= before + GRAIN


def test_where_the_system_does_not_tell_there_is_no_peak(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "PROCESS", tmp_path / "none")
    forget_peak()
    assert peak_gib() is None

import numpy as np
import pytest
import torch

from ntpcompanion.linear.svm import primal_recovery as recovery
from ntpcompanion.linear.svm.dual_ascent import ascend
from ntpcompanion.linear.svm.dual_problem import start
from ntpcompanion.linear.svm.next_token_svm import certified_gap, solve_ntp_svm
from ntpcompanion.linear.svm.primal_recovery import UnitTable, recover_certificate, recover_decoder
from tests.linear.cases import table
from tests.linear.svm.test_next_token_svm import random_table


def test_the_best_proof_is_kept():
    case = random_table()
    scaled = UnitTable(case, torch.float64, torch.device("cpu"))
    rough, _ = ascend(scaled.problem, start(scaled.problem), 20)
    fine, _ = ascend(scaled.problem, rough, 200)
    first, second = (recover_decoder(scaled, state.gamma, np.inf) for state in (rough, fine))
    assert first.gap > second.gap
    assert recover_decoder(scaled, fine.gamma, first.gap).gap == second.gap
    assert recover_decoder(scaled, rough.gamma, second.gap) is None
    assert (second.weights**2).sum() == pytest.approx(
        (solve_ntp_svm(case).weights ** 2).sum(), rel=2 * second.gap + 1e-6
    )


def test_ties_that_do_not_become_rounding_are_left_after_some_rounds(monkeypatch):
    case, calls, correct = random_table(), [], recovery.tie_correction
    best = solve_ntp_svm(case).dual
    monkeypatch.setattr(recovery, "TIE_STEPS", 1)
    monkeypatch.setattr(
        recovery, "tie_correction", lambda *given: calls.append(1) or correct(*given)
    )
    assert certified_gap(case, best + np.where(case.support.toarray(), 0.1, 0.0)) == np.inf
    assert len(calls) == recovery.TIE_ROUNDS


def test_a_ray_becomes_a_certificate_and_a_bounded_dual_none():
    clash = table([[1.0], [2.0]], [[1, 0], [0, 1]])
    scaled = UnitTable(clash, torch.float64, torch.device("cpu"))
    ray = torch.tensor([[5.0, -5.0], [-5.0, 5.0]], dtype=torch.float64)
    found = recover_certificate(scaled, ray)
    np.testing.assert_allclose(clash.embeddings.T @ found, 0, atol=1e-15)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-15)
    assert (found[~clash.support.toarray()] < 0).all()
    scaled = UnitTable(random_table(), torch.float64, torch.device("cpu"))
    state, _ = ascend(scaled.problem, start(scaled.problem), 100)
    assert recover_certificate(scaled, state.gamma) is None

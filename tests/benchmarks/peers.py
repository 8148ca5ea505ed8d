"""One general solver on one formulation of the next-token SVM: `python -m tests.benchmarks.peers
FORMULATION SOLVER V m d S`.

Prints seconds (from the table to the answer, cvxpy's compilation included) and the certified
relative gap, as JSON.
"""

import json
import sys
import time

import cvxpy as cp
import numpy as np
import torch

from ntpcompanion.linear.contexts import ContextTable
from ntpcompanion.linear.margin_programs import constraint_pairs
from ntpcompanion.linear.svm import certified_gap

# Tried in turn until the certified gap is small enough; the time is that of the last try alone.
ACCURACIES, GAP = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8), 1e-6


def accuracy(solver, eps):
    """The options that ask a solver for an accuracy."""
    if solver == "CLARABEL":
        return {"tol_gap_rel": eps, "tol_gap_abs": eps, "tol_feas": eps}
    limit = {"SCS": {"max_iters": 10**6}, "OSQP": {"max_iter": 10**6}}.get(solver, {})
    return {"eps_abs": eps, "eps_rel": eps, **limit}


def textbook(table):
    """Definition 3 as written, in the entries of W; Γ are its multipliers."""
    W = cp.Variable((table.vocab_size, table.dim))
    return cp.sum_squares(W) / 2, table.embeddings @ W.T


def in_logits(table):
    """In the logits L = E Wᵀ: the least norm that has them is |C⁻¹ L| with K = C Cᵀ. Needs
    independent embeddings.
    """
    L = cp.Variable((table.num_contexts, table.vocab_size))
    factor = np.linalg.cholesky(table.embeddings @ table.embeddings.T)
    return cp.sum_squares(np.linalg.inv(factor) @ L) / 2, L


def primal(table, solver, eps, formulation):
    """Solve over W or over logits, and return Γ."""
    objective, logits = formulation(table)
    ties, margins = constraint_pairs(table)
    constraints = [
        logits[margins[0], margins[1]] - logits[margins[0], margins[2]] >= 1,
        logits[ties[0], ties[1]] - logits[ties[0], ties[2]] == 0,
    ]
    cp.Problem(cp.Minimize(objective), constraints).solve(solver=solver, **accuracy(solver, eps))
    gamma = np.zeros((table.num_contexts, table.vocab_size))
    for (rows, anchors, tokens), constraint, sign in zip(
        (margins, ties), constraints, (1.0, -1.0), strict=True
    ):
        np.add.at(gamma, (rows, anchors), sign * constraint.dual_value)
        np.add.at(gamma, (rows, tokens), -sign * constraint.dual_value)
    return gamma


def dual(table, solver, eps):
    """Solve over Γ."""
    outside = ~table.support.toarray()
    gamma = cp.Variable(outside.shape)
    constraints = [cp.sum(gamma, axis=1) == 0, gamma[outside] <= 0]
    objective = cp.sum(gamma[outside]) + cp.sum_squares(table.embeddings.T @ gamma) / 2
    cp.Problem(cp.Minimize(objective), constraints).solve(solver=solver, **accuracy(solver, eps))
    return gamma.value


def main():
    formulation, solver, *sizes = sys.argv[1:]
    V, m, d, S = map(int, sizes)
    table = ContextTable.random(m, V, S, d, np.random.default_rng(0))
    torch.set_num_threads(2)
    for eps in ACCURACIES:
        began = time.perf_counter()
        if formulation == "dual":
            gamma = dual(table, solver, eps)
        else:
            gamma = primal(
                table, solver, eps, {"textbook": textbook, "logits": in_logits}[formulation]
            )
        seconds, gap = time.perf_counter() - began, certified_gap(table, gamma)
        if gap <= GAP:
            break
    print(json.dumps([seconds, gap]))


if __name__ == "__main__":
    main()

"""The next-token SVM, also of nuclear norm, by general solvers, as cvxpy hands it to them."""

import cvxpy as cp
import numpy as np

from ntpcompanion.linear.svm.margin_programs import constraint_pairs
from ntpcompanion.linear.svm.next_token_svm import certified_gap

# Tried in turn until the certified gap is small enough.
ACCURACIES, GAP = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8), 1e-6


def accuracy(solver, eps):
    """The options that ask a solver for an accuracy."""
    if solver == "CLARABEL":
        return {"tol_gap_rel": eps, "tol_gap_abs": eps, "tol_feas": eps}
    limit = {"SCS": {"max_iters": 10**6}, "OSQP": {"max_iter": 10**6}}.get(solver, {})
    return {"eps_abs": eps, "eps_rel": eps, **limit}


def solved(objective, logits, pairs, solver, eps):
    """Solve for the logits under ties and margins, which are rows, anchors and tokens, and return
    the dual.
    """
    ties, margins = pairs
    constraints = [
        logits[margins[0], margins[1]] - logits[margins[0], margins[2]] >= 1,
        logits[ties[0], ties[1]] - logits[ties[0], ties[2]] == 0,
    ]
    program = cp.Problem(cp.Minimize(objective), constraints)
    program.solve(solver=solver, **accuracy(solver, eps))
    dual = np.zeros(logits.shape)
    for (rows, anchors, tokens), constraint, sign in zip(
        (margins, ties), constraints, (1.0, -1.0), strict=True
    ):
        np.add.at(dual, (rows, anchors), sign * constraint.dual_value)
        np.add.at(dual, (rows, tokens), -sign * constraint.dual_value)
    return dual


def primal(table, solver, eps):
    """Solve in the logits L = E Wᵀ, the sparsest formulation, and return Γ: the least norm that has
    them is |C⁻¹ L| with K = C Cᵀ. Needs independent embeddings.
    """
    logits = cp.Variable((table.num_contexts, table.vocab_size))
    factor = np.linalg.cholesky(table.embeddings @ table.embeddings.T)
    objective = cp.sum_squares(np.linalg.inv(factor) @ logits) / 2
    return solved(objective, logits, constraint_pairs(table), solver, eps)


def first_accuracy(table, solver):
    """The first of the accuracies at which the answer of a solver certifies the gap."""
    for eps in ACCURACIES:
        if certified_gap(table, primal(table, solver, eps)) <= GAP:
            return eps
    raise AssertionError(f"{solver} does not reach a gap of {GAP:g} at any of {ACCURACIES}")


def nuclear(support, eps):
    """Logits and dual of the nuclear-norm SVM by SCS: ties of an anchor in each support with the
    other tokens in it, margins over those off it.
    """
    anchors, pairs = support.argmax(axis=1), []
    for which in (support, ~support):
        rows, tokens = np.nonzero(which)
        other = tokens != anchors[rows]
        pairs.append((rows[other], anchors[rows[other]], tokens[other]))
    logits = cp.Variable(support.shape)
    dual = solved(cp.normNuc(logits), logits, pairs, "SCS", eps)
    return logits.value, dual

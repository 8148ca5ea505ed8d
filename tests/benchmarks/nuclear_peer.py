"""The nuclear-norm SVM as cvxpy hands it to SCS."""

import cvxpy as cp
import numpy as np

from ntpcompanion.geometry import random_supports


def support_of(V, m, S):
    return random_supports(m, V, S, np.random.default_rng(0))


def pairs(support):
    """Rows, anchors and tokens: an anchor in each support, and the other tokens in it and off
    it.
    """
    anchors = support.argmax(axis=1)
    found = []
    for which in (support, ~support):
        rows, tokens = np.nonzero(which)
        other = tokens != anchors[rows]
        found.append((rows[other], anchors[rows[other]], tokens[other]))
    return found


def solve(support, eps):
    """Logits and dual."""
    logits = cp.Variable(support.shape)
    ties, margins = pairs(support)
    constraints = [
        logits[margins[0], margins[1]] - logits[margins[0], margins[2]] >= 1,
        logits[ties[0], ties[1]] - logits[ties[0], ties[2]] == 0,
    ]
    program = cp.Problem(cp.Minimize(cp.normNuc(logits)), constraints)
    program.solve(solver=cp.SCS, eps_abs=eps, eps_rel=eps, max_iters=10**6)
    dual = np.zeros(support.shape)
    for (rows, anchors, tokens), constraint, sign in zip(
        (margins, ties), constraints, (1.0, -1.0), strict=True
    ):
        np.add.at(dual, (rows, anchors), sign * constraint.dual_value)
        np.add.at(dual, (rows, tokens), -sign * constraint.dual_value)
    return logits.value, dual

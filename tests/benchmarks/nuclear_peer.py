"""The nuclear-norm SVM as cvxpy hands it to SCS: `python -m tests.benchmarks.nuclear_peer V m S
GAP`.

Prints, for each accuracy that is asked for, seconds of the processor (cvxpy's compilation
included) and the certified relative gap, as one line of JSON, until the gap is at most GAP.
"""

import json
import sys
import time

import cvxpy as cp
import numpy as np

from ntpcompanion.geometry import certified_nuclear_gap, random_supports

ACCURACIES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


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


def main():
    *sizes, goal = sys.argv[1:]
    support = support_of(*map(int, sizes))
    for eps in ACCURACIES:
        began = time.process_time()
        logits, dual = solve(support, eps)
        seconds = time.process_time() - began
        norm, bound = certified_nuclear_gap(support, logits, dual)
        print(json.dumps([seconds, 1 - bound / norm]), flush=True)
        if 1 - bound / norm <= float(goal):
            break


if __name__ == "__main__":
    main()

"""The programs of the package as cvxpy writes them: slow, and independent of what they test."""

import cvxpy as cp
import numpy as np


def nuclear_svm(support: np.ndarray) -> float:
    """The least nuclear norm, by SCS."""
    logits = cp.Variable(support.shape)
    constraints = []
    for j, row in enumerate(support):
        inside, outside = np.flatnonzero(row), np.flatnonzero(~row)
        anchor = logits[j, inside[0]]
        constraints += [logits[j, inside[1:]] == anchor] if len(inside) > 1 else []
        constraints += [logits[j, outside] <= anchor - 1]
    program = cp.Problem(cp.Minimize(cp.normNuc(logits)), constraints)
    return program.solve(solver=cp.SCS, eps=1e-9, max_iters=200_000)


def contrastive_classes(counts: list[int], temperature: float) -> tuple[float, np.ndarray]:
    """The least contrastive loss of collapsed classes over their Gram matrix, of any rank."""
    k, n = len(counts), sum(counts)
    gram = cp.Variable((k, k), PSD=True)
    terms = []
    for c, size in enumerate(counts):
        logs = [np.log(size - 1)]
        logs += [
            np.log(other) + (gram[c, b] - gram[c, c]) / temperature
            for b, other in enumerate(counts)
            if b != c
        ]
        terms.append(size / n * cp.log_sum_exp(cp.hstack(logs)))
    program = cp.Problem(cp.Minimize(sum(terms)), [cp.diag(gram) <= 1])
    program.solve(solver=cp.SCS, eps=1e-9, max_iters=200_000)
    return program.value, gram.value

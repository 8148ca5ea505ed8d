"""Slow, obvious versions of what the package computes. Nothing here imports the code under test."""

import math
from collections import Counter, defaultdict

import numpy as np
from scipy.optimize import linprog


def successors(tokens: list[int], length: int, skip: int) -> dict[tuple[int, ...], Counter]:
    """Every context of `length` tokens, and how often each token follows it, at the positions with
    at least `skip` tokens before them.
    """
    seen = defaultdict(Counter)
    for position in range(skip, len(tokens)):
        seen[tuple(tokens[position - length : position])][tokens[position]] += 1
    return dict(seen)


def conditional_entropy(seen: dict[tuple[int, ...], Counter]) -> float:
    """−Σ over places of log p(token | context), divided by the number of places."""
    places = sum(sum(counter.values()) for counter in seen.values())
    logs = (
        n * math.log(n / sum(counter.values()))
        for counter in seen.values()
        for n in counter.values()
    )
    return -math.fsum(logs) / places


def loss_of_short_memory(tokens: list[int], memory: int, skip: int) -> float:
    """The average of −log p(token | last `memory` tokens) over the places, with p counted at the
    same places.
    """
    seen = successors(tokens, memory, skip)
    losses = []
    for position in range(skip, len(tokens)):
        counter = seen[tuple(tokens[position - memory : position])]
        losses.append(-math.log(counter[tokens[position]] / sum(counter.values())))
    return math.fsum(losses) / len(losses)


def cross_entropy(embeddings: list, next_token: list, weight: list, W: list) -> float:
    """−Σ_j π_j Σ_z p_jz log softmax_z(W h_j), entry by entry."""
    terms = []
    for h, distribution, frequency in zip(embeddings, next_token, weight, strict=True):
        logits = [math.fsum(w * x for w, x in zip(row, h, strict=True)) for row in W]
        peak = max(logits)
        normalizer = peak + math.log(math.fsum(math.exp(logit - peak) for logit in logits))
        terms += [
            frequency * p * (normalizer - logit)
            for p, logit in zip(distribution, logits, strict=True)
            if p > 0
        ]
    return math.fsum(terms)


def largest_margin(embeddings: np.ndarray, support: np.ndarray) -> float:
    """max t with ties, margins of at least t and |W_ij| ≤ 1, by HiGHS, a dense row for each
    condition; positive exactly if separable.
    """
    (m, d), V = embeddings.shape, support.shape[1]
    ties, margins = [], []
    for j in range(m):
        anchor = int(np.flatnonzero(support[j])[0])
        for v in set(range(V)) - {anchor}:
            difference = np.zeros((V, d))
            difference[anchor], difference[v] = embeddings[j], -embeddings[j]
            (ties if support[j, v] else margins).append(difference.ravel())
    lhs = np.hstack([-np.array(margins), np.ones((len(margins), 1))])
    equal = (
        {"A_eq": np.hstack([np.array(ties), np.zeros((len(ties), 1))]), "b_eq": np.zeros(len(ties))}
        if ties
        else {}
    )
    bounds = [(-1, 1)] * (V * d) + [(0, None)]
    solution = linprog(
        np.r_[np.zeros(V * d), -1.0], A_ub=lhs, b_ub=np.zeros(len(margins)), bounds=bounds, **equal
    )
    return float(solution.x[-1])


def separates(embeddings: list, support: list, W: list, slack: float = 0) -> bool:
    """Ties up to `slack` and margins of at least 1 − `slack`, pair by pair; exact if all entries
    are integers or fractions.
    """
    for h, inside in zip(embeddings, support, strict=True):
        logits = [sum(w * x for w, x in zip(row, h, strict=True)) for row in W]
        for z, v in ((z, v) for z in range(len(W)) if inside[z] for v in range(len(W))):
            difference = logits[z] - logits[v]
            if (abs(difference) > slack) if inside[v] else (difference < 1 - slack):
                return False
    return True


def refutes(embeddings: list, support: list, certificate: list, slack: float = 0) -> bool:
    """EᵀΓ = 0 and Γ1 = 0 up to `slack`, Γ ≤ 0 off support, and not all of those 0; exact if all
    entries are integers or fractions.
    """
    m, d, V = len(embeddings), len(embeddings[0]), len(support[0])
    columns = [
        sum(embeddings[j][c] * certificate[j][v] for j in range(m))
        for c in range(d)
        for v in range(V)
    ]
    sums = [sum(row) for row in certificate]
    off = [certificate[j][v] for j in range(m) for v in range(V) if not support[j][v]]
    return max(map(abs, columns + sums)) <= slack and max(off) <= 0 and min(off) < 0


def ties(embeddings: np.ndarray, support: np.ndarray) -> np.ndarray:
    """The matrices (e_z − e_z') h_jᵀ of all pairs in a support, flattened, one a row: they span F
    (at least one row of zeros).
    """
    V, d = support.shape[1], embeddings.shape[1]
    spanning = [np.zeros((V, d))]
    for h, inside in zip(embeddings, support, strict=True):
        members = np.flatnonzero(inside)
        spanning += [
            np.outer(np.eye(V)[z] - np.eye(V)[other], h)
            for z in members
            for other in members
            if z < other
        ]
    return np.array([matrix.ravel() for matrix in spanning])

"""Slow, obvious versions of what the package computes. Nothing here imports the code under test."""

import math
from collections import Counter, defaultdict


def successors(tokens: list[int], length: int, skip: int) -> dict[tuple[int, ...], Counter]:
    """Every context of `length` tokens, and how often each token follows it, at the positions with at least `skip` tokens before them."""
    seen = defaultdict(Counter)
    for position in range(skip, len(tokens)):
        seen[tuple(tokens[position - length : position])][tokens[position]] += 1
    return dict(seen)


def conditional_entropy(seen: dict[tuple[int, ...], Counter]) -> float:
    """−Σ over places of log p(token | context), divided by the number of places."""
    places = sum(sum(counter.values()) for counter in seen.values())
    logs = (n * math.log(n / sum(counter.values())) for counter in seen.values() for n in counter.values())
    return -math.fsum(logs) / places


def loss_of_short_memory(tokens: list[int], memory: int, skip: int) -> float:
    """The average of −log p(token | last `memory` tokens) over the places, with p counted at the same places."""
    seen = successors(tokens, memory, skip)
    losses = []
    for position in range(skip, len(tokens)):
        counter = seen[tuple(tokens[position - memory : position])]
        losses.append(-math.log(counter[tokens[position]] / sum(counter.values())))
    return math.fsum(losses) / len(losses)


def cross_entropy(embeddings: list, next_token: list, weight: list, W: list) -> float:
    """−Σ_j π_j Σ_z p_jz log softmax_z(W h_j), entry by entry."""
    terms = []
    for h, law, frequency in zip(embeddings, next_token, weight, strict=True):
        logits = [math.fsum(w * x for w, x in zip(row, h, strict=True)) for row in W]
        peak = max(logits)
        normalizer = peak + math.log(math.fsum(math.exp(logit - peak) for logit in logits))
        terms += [frequency * p * (normalizer - logit) for p, logit in zip(law, logits, strict=True) if p > 0]
    return math.fsum(terms)

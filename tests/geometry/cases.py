"""Supports and tables that tests share."""

import numpy as np

from ntpcompanion.geometry import random_supports


def drawn_supports(m: int, V: int, k: int, seed: int) -> np.ndarray:
    """m random supports of k among V tokens."""
    return random_supports(m, V, k, np.random.default_rng(seed))


def drawn_table(m: int, V: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Distributions on random supports, and frequencies."""
    rng = np.random.default_rng(seed)
    support = drawn_supports(m, V, k, seed)
    laws = np.zeros((m, V))
    laws[support] = rng.dirichlet(np.ones(k), size=m).ravel()
    return laws, rng.dirichlet(np.full(m, 5.0))

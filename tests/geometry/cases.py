"""Supports and tables that tests share."""

import numpy as np


def drawn_supports(m: int, V: int, k: int, seed: int) -> np.ndarray:
    """m random supports of k among V tokens."""
    rng = np.random.default_rng(seed)
    support = np.zeros((m, V), dtype=bool)
    np.put_along_axis(support, rng.random((m, V)).argsort(axis=1)[:, :k], True, axis=1)
    return support


def drawn_table(m: int, V: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Distributions on random supports, and frequencies."""
    rng = np.random.default_rng(seed)
    support = drawn_supports(m, V, k, seed)
    laws = np.zeros((m, V))
    laws[support] = rng.dirichlet(np.ones(k), size=m).ravel()
    return laws, rng.dirichlet(np.full(m, 5.0))

"""A dual problem of four contexts over five tokens, and states of its solvers."""

from dataclasses import replace

import numpy as np
import torch

from ntpcompanion.linear.svm.dual_problem import DualProblem, State, start

SUPPORT = np.array([[1, 1, 0, 0, 0], [0, 1, 0, 1, 1], [0, 0, 1, 0, 0], [1, 1, 1, 1, 1]], dtype=bool)


def random_problem(rng: np.random.Generator) -> DualProblem:
    """Normal embeddings of length 1 in six dimensions, thresholds between 0.5 and 2."""
    rows = rng.standard_normal((4, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return DualProblem(
        torch.as_tensor(rows @ rows.T),
        torch.as_tensor(SUPPORT),
        torch.as_tensor(rng.uniform(0.5, 2.0, 4)),
    )


def at(problem: DualProblem, gamma: object) -> State:
    """The state of a solver at a Γ, as it is before any projection."""
    gamma = torch.as_tensor(gamma)
    return replace(start(problem), gamma=gamma, gram_gamma=problem.gram @ gamma)

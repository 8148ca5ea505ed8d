"""Solvers and descents of the linear model against general ones."""

import subprocess
import sys

import numpy as np
import torch
from scipy.integrate import solve_ivp
from scipy.optimize import linprog
from scipy.sparse import csr_array

from ntpcompanion.linear.dynamics.descent import descend
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.separability.decision import Verdict, check_separability
from ntpcompanion.linear.svm.margin_programs import constraint_pairs
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.linear.thresholds.phase_diagram import crossing_sample, table_of_sizes
from ntpcompanion.randomness import stream
from tests.benchmarks.peers import GAP, first_accuracy, primal
from tests.benchmarks.timing import about, clocked

SVM, PART = "Next-token SVM", "Linear model"
SIZES = (50, 100, 128, 5)  # V, m, d, S: tokens, contexts, dimensions, support size


def random_table(V, m, d, S):
    return ContextTable.random(m, V, S, d, np.random.default_rng(0))


def against(timing, solver, sizes=SIZES, at_least=10.0):
    """The SVM by ours and by a solver of cvxpy: both to a certified relative gap of 1e-6."""
    table = random_table(*sizes)
    assert solve_ntp_svm(table, tol=GAP).duality_gap <= GAP
    eps = first_accuracy(table, solver)
    timing.pair(
        ("solve_ntp_svm", lambda: solve_ntp_svm(table, tol=GAP)),
        (solver.replace("CLARABEL", "Clarabel"), lambda: primal(table, solver, eps)),
        at_least=at_least,
        least=2,
        note=f"cvxpy's compilation included; {solver} is asked for {eps:g}, the first accuracy "
        "that certifies the gap.",
    )


@about("SVM of 100 contexts and 50 tokens to a gap of 1e-6", SVM, busy=False)
def test_svm_osqp(timing):
    against(timing, "OSQP")


@about("SVM of 100 contexts and 50 tokens to a gap of 1e-6", SVM, busy=False)
def test_svm_scs(timing):
    against(timing, "SCS")


@about("SVM of 100 contexts and 50 tokens to a gap of 1e-6", SVM, busy=False)
def test_svm_piqp(timing):
    against(timing, "PIQP")


@about("SVM of 80 contexts and 40 tokens to a gap of 1e-6", SVM, busy=False)
def test_svm_clarabel(timing):
    against(timing, "CLARABEL", (40, 80, 120, 3), at_least=None)


@about("SVM of 1000 contexts and 500 tokens to a gap of 1e-6", SVM)
def test_svm_large(timing):
    table = random_table(500, 1000, 1200, 20)
    seconds = [clocked(lambda: solve_ntp_svm(table, tol=1e-6)) for _ in range(3)]
    timing.amount("s", seconds, at_most=2.0)


@about("SVM with more contexts: 100 tokens", SVM, busy=False)
def test_svm_contexts(timing):
    def prepared(m):
        table = random_table(100, m, int(1.2 * m), 10)
        return lambda: solve_ntp_svm(table)

    timing.growth("contexts m", [100, 200, 400, 800], prepared, note="d = 1.2 m, gap 1e-6.")


@about("SVM with more tokens: 200 contexts", SVM, busy=False)
def test_svm_tokens(timing):
    def prepared(V):
        table = random_table(V, 200, 240, 10)
        return lambda: solve_ntp_svm(table)

    timing.growth("tokens V", [50, 100, 200, 400], prepared, note="d = 240, gap 1e-6.")


def linear_program(table):
    """Ties and margins as HiGHS takes them: matrices in the entries of W by rows."""
    ties, margins = constraint_pairs(table)
    V, d = table.vocab_size, table.dim

    def matrix(rows, anchors, tokens):
        h = table.embeddings[rows]
        count, offsets = len(rows), np.arange(d)
        columns = np.hstack([anchors[:, None] * d + offsets, tokens[:, None] * d + offsets])
        data = np.hstack([h, -h]).ravel()
        return csr_array(
            (data, (np.repeat(np.arange(count), 2 * d), columns.ravel())), shape=(count, V * d)
        )

    less, equal = -matrix(*margins), matrix(*ties)
    return linprog(
        np.zeros(V * d), A_ub=less, b_ub=-np.ones(less.shape[0]), A_eq=equal,
        b_eq=np.zeros(equal.shape[0]), bounds=(None, None), method="highs",
    )  # fmt: skip


@about("Separability of 60 contexts and 20 tokens", PART)
def test_separability(timing):
    table = random_table(20, 60, 40, 4)
    found = check_separability(table).verdict
    assert found is Verdict.SEPARABLE
    assert linear_program(table).status == 0
    timing.pair(
        ("check_separability", lambda: check_separability(table)),
        ("HiGHS (SciPy)", lambda: linear_program(table)),
        at_least=1.0,
        note="A linear program in the entries of W, whose matrices are written in the time.",
    )


@about("Separability with more contexts: 50 tokens", PART, busy=False)
def test_separability_contexts(timing):
    def prepared(m):
        table = random_table(50, m, int(1.2 * m), 5)
        return lambda: check_separability(table)

    timing.growth("contexts m", [50, 100, 200, 400, 800], prepared, note="d = 1.2 m.")


DESCENTS = {
    "gd": {"learning_rate": 0.5},
    "adam": {"learning_rate": 0.01, "betas": (0.9, 0.99)},
}
STEPS = 2_000


def by_autograd(table, steps):
    """Adam as PyTorch's users write it, on the same loss."""
    E = torch.from_numpy(table.embeddings)
    target = torch.from_numpy(table.distributions.toarray() * table.weight[:, None])
    W = torch.zeros(table.vocab_size, table.dim, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([W], 0.01, betas=(0.9, 0.99))
    for _ in range(steps):
        loss = -(target * (E @ W.T).log_softmax(1)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@about("2,000 steps of Adam on 50 contexts", PART)
def test_descent(timing):
    table = ContextTable.random(50, 10, 6, 60, np.random.default_rng(0))
    run = {"optimizer": "adam", "steps": STEPS, "keep": 200, **DESCENTS["adam"]}
    timing.pair(
        ("descend", lambda: list(descend(table, rng=np.random.default_rng(1), **run))),
        ("torch.optim.Adam", lambda: by_autograd(table, STEPS // 4)),
        times=4.0,
        at_least=1.0,
        note="The peer makes a quarter of the steps.",
    )


@about("10,000 steps of gradient descent on 50 contexts, with 200 snapshots", PART, busy=False)
def test_descent_seconds(timing):
    table = ContextTable.random(50, 10, 6, 60, np.random.default_rng(0))
    run = {"optimizer": "gd", "steps": 10_000, "keep": 200, **DESCENTS["gd"]}
    took = [
        clocked(lambda: list(descend(table, rng=np.random.default_rng(1), **run))) for _ in range(5)
    ]
    timing.amount("s", took, at_most=1.0)


@about("Gradient flow of 20 contexts and 10 tokens to t = e⁸", PART)
def test_flow(timing):
    table = random_table(10, 20, 25, 3)
    shape, end = (10, 25), np.exp(8.0)

    def plain():
        solve_ivp(
            lambda _, w: -table.gradient(w.reshape(shape)).ravel(), (0, end), np.zeros(250),
            method="LSODA", rtol=1e-6, atol=1e-6,
        )  # fmt: skip

    timing.pair(
        ("gradient_flow", lambda: gradient_flow(table, [0.0, 4.0, 8.0])),
        ("LSODA (SciPy)", plain),
        note="The peer integrates W itself, in t; ours also to times that no float holds.",
    )


@about("A phase diagram: 2 support sizes, 15 ratios, 4 draws, m = 40", PART, busy=False)
def test_phase(timing):
    def once():
        for S in (1, 4):
            rngs = (stream(0, f"table {S} {draw}") for draw in range(4))
            sample = crossing_sample(table_of_sizes([S] * 40, 10, 40, rng) for rng in rngs)
            sample.shares([round(40 * k / 16) for k in range(1, 16)])

    timing.amount("s", [clocked(once) for _ in range(3)], at_most=4.8)


@about("A table of contexts from a million tokens", PART)
def test_from_tokens(timing):
    tokens = np.minimum(np.random.default_rng(0).zipf(1.3, 10**6), 1000) - 1
    rng = np.random.default_rng(0)
    took = [clocked(lambda: ContextTable.from_tokens(tokens, 1000, 5, 16, rng)) for _ in range(3)]
    timing.amount("s", took, at_most=5.0)


# in a process of its own
LARGE = """import numpy as np
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.benchmarks.memory import peak_memory
rng = np.random.default_rng(0)
ContextTable.from_tokens(rng.integers(0, 1000, 10**6), 1000, 5, 16, rng)
print(peak_memory())"""


@about("Peak memory of that table where all contexts differ", PART, busy=False)
def test_from_tokens_memory(timing):
    command = [sys.executable, "-c", LARGE]
    peak = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    timing.amount("GiB", [peak], at_most=1.0, note="Python and its libraries included.")


@about("A table of contexts from more tokens", PART, busy=False)
def test_from_tokens_growth(timing):
    def prepared(n):
        tokens = np.minimum(np.random.default_rng(0).zipf(1.3, n), 1000) - 1
        return lambda: ContextTable.from_tokens(tokens, 1000, 5, 16, np.random.default_rng(0))

    timing.growth("tokens", [30_000, 100_000, 300_000, 1_000_000], prepared, ideal=1.0)

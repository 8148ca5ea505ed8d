"""SGD and Adam against torch, enumerated pairs and finite differences, and each step of the proof
that SGD keeps the direction of gradient descent.
"""

import numpy as np
import pytest
import torch
from scipy.linalg import solve_discrete_lyapunov
from scipy.optimize import approx_fprime
from scipy.special import log_softmax, softmax
from scipy.stats import chisquare

from ntpcompanion.linear import ContextTable, check_compatibility, descend, solve_ntp_svm
from ntpcompanion.linear.dynamics import stochastic_descent
from ntpcompanion.linear.dynamics.stochastic_descent import descend_many, stationary_covariance

SIZES = 4, 5, 2, 6  # m, V, S, d


def draw(seed, sizes=SIZES):
    return ContextTable.random(*sizes, np.random.default_rng(seed))


def pairs(table):
    """All (j, z, π_j p_jz) with p_jz > 0."""
    p = table.next_token
    return [(j, z, table.weight[j] * p[j, z]) for j, z in np.argwhere(p > 0)]


def projection(table):
    """Onto F, as a matrix on the entries of W: from the definition, by least squares."""
    spanning = []
    for h, p in zip(table.embeddings, table.next_token, strict=True):
        first, *others = np.flatnonzero(p)
        for z in others:
            contrast = np.zeros((table.vocab_size, table.dim))
            contrast[first], contrast[z] = h, -h
            spanning.append(contrast.ravel())
    columns = np.array(spanning).T
    return columns @ np.linalg.pinv(columns)


def sample_gradient(table, W, j, z):
    """Of −log softmax_z(W h_j), by finite differences."""

    def loss(w):
        return -log_softmax(w.reshape(W.shape) @ table.embeddings[j])[z]

    return approx_fprime(W.ravel(), loss, 1e-7).reshape(W.shape)


def exact_gradient(table, W, j, z):
    residual = softmax(W @ table.embeddings[j])
    residual[z] -= 1
    return np.outer(residual, table.embeddings[j])


def test_one_step_is_the_gradient_on_one_of_the_pairs():
    table, runs, rate = draw(0), 4000, 0.3
    W = np.random.default_rng(1).standard_normal((5, 6))
    found = descend_many(
        [table] * runs,
        [np.random.default_rng(seed) for seed in range(runs)],
        learning_rate=rate,
        batch_size=1,
        steps=1,
        keep=[1],
        start=np.tile(W, (runs, 1, 1)),
    )[0]
    steps = np.array([W - rate * sample_gradient(table, W, j, z) for j, z, _ in pairs(table)])
    distance = np.abs(found[:, None] - steps).max(axis=(2, 3))
    assert distance.min(axis=1).max() < 1e-6
    counts = np.bincount(distance.argmin(axis=1), minlength=len(steps))
    expected = runs * np.array([weight for *_, weight in pairs(table)])
    assert chisquare(counts, expected).pvalue > 1e-3


@pytest.mark.parametrize("batch_size", [3, 40])
def test_batches_have_the_mean_and_the_covariance_of_their_samples(batch_size):
    table, runs = draw(0), 6000
    found = descend_many(
        [table] * runs,
        [np.random.default_rng(seed) for seed in range(runs)],
        learning_rate=1.0,
        batch_size=batch_size,
        steps=1,
        keep=[1],
    )[0].reshape(runs, -1)
    zero = np.zeros((5, 6))
    samples = np.array([exact_gradient(table, zero, j, z).ravel() for j, z, _ in pairs(table)])
    weight = np.array([weight for *_, weight in pairs(table)])
    mean = weight @ samples
    covariance = (samples.T * weight) @ samples - np.outer(mean, mean)
    assert np.allclose(mean, table.gradient(zero).ravel())
    error = np.sqrt(np.diag(covariance).max() / batch_size / runs)
    assert np.abs(found.mean(axis=0) + mean).max() < 5 * error
    assert np.abs(batch_size * np.cov(found.T) - covariance).max() < 0.08 * covariance.max()


def test_the_full_gradient_is_descent_and_runs_do_not_mix():
    tables = [draw(seed) for seed in range(3)]
    rngs = [np.random.default_rng(0) for _ in tables]
    found = descend_many(tables, rngs, learning_rate=0.2, batch_size=None, steps=300, keep=[7, 300])
    for i, table in enumerate(tables):
        path = descend(
            table, optimizer="gd", learning_rate=0.2, steps=300, keep=[7, 300],
            rng=np.random.default_rng(0), start=np.zeros((5, 6)),
        )  # fmt: skip
        assert np.allclose([each.weights for each in path], found[:, i], atol=1e-12)
    assert rngs[0].random() == np.random.default_rng(0).random()
    both, alone = (
        descend_many(
            tables[:n], [np.random.default_rng(i) for i in range(n)],
            learning_rate=np.array([0.1, 0.3])[:n], batch_size=2, steps=700, keep=[700], power=0.5,
        )
        for n in (2, 1)
    )  # fmt: skip
    assert np.array_equal(both[:, 0], alone[:, 0])


@pytest.mark.parametrize("batch_size", [2, 9])
def test_how_many_steps_are_drawn_at_once_changes_nothing(batch_size, monkeypatch):
    def run():
        rngs = [np.random.default_rng(i) for i in range(2)]
        options = {"learning_rate": 0.1, "batch_size": batch_size, "steps": 20, "keep": [20]}
        return descend_many([draw(0), draw(1)], rngs, **options)

    whole = run()
    monkeypatch.setattr(stochastic_descent, "COUNTS", 1)
    assert np.array_equal(run(), whole)
    monkeypatch.setattr(stochastic_descent, "BLOCK", 7)
    assert np.array_equal(run(), whole)


def test_adam_is_that_of_torch_on_the_same_samples():
    """Which pair was drawn is read off the steps of SGD with the same generator."""
    table, steps, rate = draw(0), 60, 0.2
    run = {"batch_size": 1, "steps": steps, "keep": range(1, steps + 1)}
    path = descend_many([table], [np.random.default_rng(5)], learning_rate=1e-3, **run)[:, 0]
    W = torch.zeros((5, 6), dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([W], lr=rate, betas=(0.9, 0.97))
    for k, now in enumerate(path, 1):
        before = path[k - 2] if k > 1 else np.zeros((5, 6))
        candidates = [(j, z) for j, z, _ in pairs(table)]
        steps_of = np.array([1e-3 * exact_gradient(table, before, *each) for each in candidates])
        j, z = candidates[np.abs(before - now - steps_of).max(axis=(1, 2)).argmin()]
        adam.zero_grad()
        logits = W @ torch.tensor(table.embeddings[j])
        torch.nn.functional.cross_entropy(logits[None], torch.tensor([z])).backward()
        adam.param_groups[0]["lr"] = rate / k**0.5
        adam.step()
    found = descend_many(
        [table], [np.random.default_rng(5)], learning_rate=rate, power=0.5, betas=(0.9, 0.97), **run
    )[-1, 0]
    assert np.allclose(found, W.detach().numpy(), atol=1e-9)


def test_adam_on_the_full_gradient_is_that_of_descent():
    tables = [draw(seed) for seed in range(2)]
    rngs = [np.random.default_rng(0) for _ in tables]
    run = {"learning_rate": 0.01, "steps": 200, "keep": [200], "betas": (0.8, 0.9)}
    found = descend_many(tables, rngs, batch_size=None, **run)
    for i, table in enumerate(tables):
        (end,) = descend(
            table, optimizer="adam", rng=np.random.default_rng(0), start=np.zeros((5, 6)), **run
        )
        assert np.allclose(end.weights, found[0, i], atol=1e-10)


def test_of_one_sample_only_the_context_moves_what_is_orthogonal_to_F():
    """The noise identity: with any token of the support, and minus Σ q_jv G_jv."""
    for seed in range(20):
        table = draw(seed)
        W = 2 * np.random.default_rng(seed).standard_normal((5, 6))
        outside = np.eye(30) - projection(table)
        for j, z, _ in pairs(table):
            h, q = table.embeddings[j], softmax(W @ table.embeddings[j])
            contrasts = np.array([np.outer(np.eye(5)[z] - np.eye(5)[v], h) for v in range(5)])
            off = table.next_token[j] == 0
            predicted = -outside @ np.tensordot(q * off, contrasts, 1).ravel()
            found = outside @ sample_gradient(table, W, j, z).ravel()
            assert found == pytest.approx(predicted, abs=1e-5)
            size = np.sqrt(2) * np.linalg.norm(h) * q[off].sum()
            assert np.linalg.norm(predicted) <= size + 1e-12


@pytest.mark.parametrize("scale", [0.1, 3.0, 30.0])
def test_the_inequalities_of_the_proof_hold_for_every_decoder(scale):
    """Of one sample, (a) to (c), and of the mean, (d), of the lemma; with c by search."""
    for seed in range(20):
        table, rng = draw(seed), np.random.default_rng(100 + seed)
        finite, inside = check_compatibility(table).finite_part, projection(table)
        longest = np.linalg.norm(table.embeddings, axis=1).max()
        W = scale * rng.standard_normal((5, 6))
        X = (inside @ W.ravel()).reshape(W.shape)
        moved, rest, rho = X - finite, W - X, np.linalg.norm(X - finite)
        bound = 2 * np.linalg.norm(finite) * longest
        drift = total = inner = 0.0
        for j, z, weight in pairs(table):
            h, on = table.embeddings[j], table.next_token[j] > 0
            q, a = softmax(W @ h), moved @ h
            s = softmax(np.where(on, W @ h, -np.inf))
            product = np.vdot(exact_gradient(table, W, j, z), moved)
            leak = q[~on].sum()
            assert (
                product >= np.log(table.next_token[j, z]) - np.sqrt(2) * longest * rho * leak - 1e-9
            )
            margins = (rest @ h)[z] - rest @ h
            above = np.log(q, where=q > 0, out=np.full(5, -800.0)) + margins - bound
            assert (a - s @ a >= above - 1e-9)[~on].all()
            drift += weight * product
            total += weight * (q * (a - s @ a))[~on].sum()
            inner += weight * (s @ a - a[z])
        assert drift == pytest.approx(total + inner, rel=1e-9, abs=1e-9)
        assert inner >= divergence(table, X) - 1e-9


def divergence(table, X):
    """I(X), within the supports."""
    p, logits = table.next_token, table.embeddings @ X.T
    inside = log_softmax(np.where(p > 0, logits, -np.inf), axis=1)
    log_p = np.log(p, where=p > 0, out=np.zeros(p.shape))
    inside = np.where(p > 0, inside, 0.0)
    return float(table.weight @ (p * (log_p - inside)).sum(axis=1))


def test_the_chord_bounds_the_mean_of_a_convex_function():
    """Of y in [−s, ε] with mean at most ε − u, for the F of the proof; and F′ ≤ 2R e^{b(u − R)}."""
    rng, b, R, s, eps = np.random.default_rng(0), 1.5, 4.0, 1.0, 0.05

    def F(u):
        return np.where(u <= R, 2 * R / b * np.exp(b * (u - R)), u**2 - R**2 + 2 * R / b)

    for rho in np.linspace(1.5, 8, 40):
        y, weight = rng.uniform(-s, eps, 6), rng.dirichlet(np.ones(6))
        short = eps - weight @ y
        chord = F(rho + eps) - short / (s + eps) * (F(rho + eps) - F(rho - s))
        assert weight @ F(rho + y) <= chord + 1e-12
        assert (F(rho + 1e-6) - F(rho)) / 1e-6 <= 2 * R * np.exp(b * (rho - R)) * (1 + 1e-4)


def test_the_stationary_covariance_solves_the_lyapunov_equation():
    """With mean and covariance of the gradient enumerated far out along W^mm."""
    table, rate, batch_size = draw(2), 0.3, 3
    far = check_compatibility(table).finite_part + 200 * solve_ntp_svm(table).weights
    samples = np.array([exact_gradient(table, far, j, z).ravel() for j, z, _ in pairs(table)])
    weight = np.array([weight for *_, weight in pairs(table)])
    modes, curvature, variance = stationary_covariance(
        table, learning_rate=rate, batch_size=batch_size
    )
    basis = modes.reshape(len(modes), -1)
    noise = basis @ ((samples.T * weight) @ samples) @ basis.T
    step = 1e-4
    rows = [
        (table.gradient(far + step * mode) - table.gradient(far - step * mode)).ravel()
        for mode in modes
    ]
    hessian = np.array(rows) @ basis.T / (2 * step)
    assert np.allclose(hessian, np.diag(curvature), atol=1e-7)
    assert np.allclose(noise, hessian, atol=1e-7)
    keeps = np.eye(len(modes)) - rate * hessian
    solved = solve_discrete_lyapunov(keeps, rate**2 / batch_size * noise)
    assert np.allclose(solved, np.diag(variance), atol=1e-7)
    assert np.allclose(basis @ basis.T, np.eye(len(modes)))
    assert np.allclose(projection(table), basis.T @ basis)


def test_beyond_the_edge_of_stability_nothing_is_stationary():
    table = draw(2)
    _, curvature, _ = stationary_covariance(table, learning_rate=1.0, batch_size=1)
    _, _, variance = stationary_covariance(table, learning_rate=1.9 / curvature[-2], batch_size=1)
    assert np.isfinite(variance[:-1]).all()
    assert np.isinf(variance[-1]) == (1.9 * curvature[-1] >= 2 * curvature[-2])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rngs": []}, "`rngs` must be as many as `tables`"),
        ({"tables": [draw(0), draw(0, (3, 5, 2, 6))]}, "`tables` must have one number of contexts"),
        ({"keep": [5, 4]}, "`keep` must be increasing steps in 1 … `steps` = 10"),
        ({"keep": [0, 4]}, "`keep` must be increasing"),
        ({"keep": [11]}, "`keep` must be increasing"),
        ({"learning_rate": 0.0}, "`learning_rate` must be positive"),
        ({"learning_rate": np.ones(3)}, "`learning_rate` must be one number, or one for each of"),
        ({"start": np.zeros((1, 5, 6))}, "`start`"),
        ({"power": 2.0}, "`power`"),
        ({"betas": (0.9, 1.0)}, "`betas`"),
    ],
)
def test_wrong_arguments_are_named(wrong, words):
    right = {
        "tables": [draw(0), draw(1)],
        "rngs": [np.random.default_rng(i) for i in range(2)],
        "learning_rate": 0.1,
        "batch_size": 1,
        "steps": 10,
        "keep": [10],
    } | wrong
    with pytest.raises(ValueError, match=words):
        descend_many(right.pop("tables"), right.pop("rngs"), **right)

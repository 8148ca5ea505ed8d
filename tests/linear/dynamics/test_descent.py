from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.linear.dynamics.descent import FullGradient, SampledGradient, descend, step_bound
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import degenerate_tables


@pytest.fixture
def table(rng):
    return ContextTable.random(12, 6, 3, 15, rng)


def obvious(table, W, optimizer, rates):
    for rate in rates:
        gradient = table.gradient(W)
        W = W - rate * (gradient if optimizer == "gd" else gradient / np.linalg.norm(gradient))
    return W


@pytest.mark.parametrize("optimizer", ["gd", "ngd"])
def test_the_descent_is_the_obvious_loop(table, rng, optimizer):
    start = rng.standard_normal((6, 15))
    snapshots = list(
        descend(
            table,
            optimizer=optimizer,
            learning_rate=0.05,
            steps=40,
            keep=[0, 1, 7, 40],
            rng=rng,
            start=start,
        )
    )
    assert [snapshot.step for snapshot in snapshots] == [0, 1, 7, 40]
    for snapshot in snapshots:
        expected = obvious(table, start, optimizer, [0.05] * snapshot.step)
        assert np.allclose(snapshot.weights, expected, rtol=0, atol=1e-13)
        assert snapshot.time == pytest.approx(0.05 * snapshot.step)


@pytest.mark.parametrize(
    ("betas", "epsilon", "schedule"),
    [
        ((0.9, 0.99), 1e-8, lambda k: 0.1 / np.sqrt(k)),
        ((0.5, 0.9), 1e-2, 0.01),
        ((0.0, 0.0), 1e-8, 0.01),
    ],
)
def test_adam_is_that_of_pytorch(table, rng, schedule, betas, epsilon):
    start = rng.standard_normal((6, 15))
    W = torch.tensor(start, requires_grad=True)
    optimizer = torch.optim.Adam([W], lr=1.0, betas=betas, eps=epsilon)
    E, P, weight = (
        torch.tensor(values)
        for values in (table.embeddings, table.distributions.toarray(), table.weight)
    )
    settings = {"betas": betas, "epsilon": epsilon, "start": start, "rng": rng}
    for snapshot in descend(
        table, optimizer="adam", learning_rate=schedule, steps=200, keep=range(1, 201), **settings
    ):
        optimizer.param_groups[0]["lr"] = (
            schedule(snapshot.step) if callable(schedule) else schedule
        )
        optimizer.zero_grad()
        (-(weight[:, None] * P * torch.log_softmax(E @ W.T, 1)).sum()).backward()
        optimizer.step()
        if betas == (0.0, 0.0) and snapshot.step > 20:
            # steps have the signs of gradients there, and gradients soon the size of rounding
            break
        assert np.allclose(snapshot.weights, W.detach().numpy(), rtol=0, atol=1e-11)


def test_snapshots_of_adam_hold_its_second_moment(table, rng):
    start = rng.standard_normal((6, 15))
    settings = {"learning_rate": 0.1, "steps": 2, "keep": [0, 1, 2], "rng": rng, "start": start}
    zero, one, two = descend(table, optimizer="adam", betas=(0.9, 0.75), **settings)
    first, second = table.gradient(zero.weights) ** 2, table.gradient(one.weights) ** 2
    assert zero.second_moment is None
    assert np.allclose(one.second_moment, first, rtol=1e-9)
    assert np.allclose(two.second_moment, (0.75 * first + second) / 1.75, rtol=1e-9)
    assert all(
        snapshot.second_moment is None for snapshot in descend(table, optimizer="gd", **settings)
    )


class EvenlySpaced(np.random.Generator):
    """Its uniform numbers are the midpoints of equal parts."""

    def random(self, size):
        return (np.arange(size) + 0.5) / size


def test_samples_in_exact_proportion_give_the_full_gradient(rng):
    distributions = np.array([[0.25, 0.0, 0.75], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    table = ContextTable(rng.standard_normal((3, 2)), distributions, np.array([0.25, 0.5, 0.25]))
    start = rng.standard_normal((3, 2))
    settings = {"optimizer": "sgd", "learning_rate": 0.5, "steps": 1, "keep": [1], "start": start}
    (after,) = descend(table, batch_size=16, rng=EvenlySpaced(np.random.PCG64(0)), **settings)
    assert np.allclose(after.weights, start - 0.5 * table.gradient(start), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("optimizer", "batch_size"), [("gd", None), ("ngd", None), ("adam", None), ("sgd", 3)]
)
def test_a_run_depends_on_its_generator_only(table, optimizer, batch_size):
    def weights(seed):
        settings = {
            "optimizer": optimizer,
            "learning_rate": 0.01,
            "steps": 20,
            "batch_size": batch_size,
        }
        return [
            snapshot.weights
            for snapshot in descend(table, keep=5, rng=np.random.default_rng(seed), **settings)
        ]

    assert all(
        np.array_equal(one, other) for one, other in zip(weights(0), weights(0), strict=True)
    )
    assert not np.array_equal(weights(0)[-1], weights(1)[-1])
    assert all(
        one is not other and not np.shares_memory(one, other) for one, other in pairwise(weights(0))
    )


def test_the_start_has_the_variance_of_lecun():
    wide = ContextTable.random(2, 50, 2, 400, np.random.default_rng(0))
    start = next(
        descend(
            wide, optimizer="gd", learning_rate=1.0, steps=1, keep=[0], rng=np.random.default_rng(1)
        )
    ).weights
    assert start.std() == pytest.approx(1 / 20, rel=0.02)
    assert abs(start.mean()) < 0.002


def test_a_rate_that_is_no_number_is_not_taken_for_one(table, rng):
    snapshots = descend(
        table,
        optimizer="gd",
        learning_rate=lambda k: np.nan if k == 3 else 0.1,
        steps=9,
        keep=[2, 9],
        rng=rng,
    )
    assert next(snapshots).step == 2
    with pytest.raises(
        ValueError, match=r"`learning_rate` returned NaN or infinity in one of the steps 3 … 9\."
    ):
        next(snapshots)


def test_a_number_of_snapshots_is_spread_evenly_in_log_step(table, rng):
    steps = [
        s.step
        for s in descend(table, optimizer="gd", learning_rate=0.1, steps=1000, keep=4, rng=rng)
    ]
    assert steps == [0, 1, 10, 100, 1000]


def test_a_rate_that_depends_on_the_step_is_asked_for_step_1_2_3(table, rng):
    start = rng.standard_normal((6, 15))
    settings = {"optimizer": "gd", "steps": 3, "keep": [3], "rng": rng, "start": start}
    (after,) = descend(table, learning_rate=lambda k: 0.1 * k, **settings)
    assert np.allclose(after.weights, obvious(table, start, "gd", [0.1, 0.2, 0.3]), atol=1e-14)
    assert after.time == pytest.approx(0.6)


@given(degenerate_tables(), st.integers(0, 1000))
def test_the_step_bound_bounds_the_change_of_the_gradient(table, seed):
    if not table.embeddings.any():
        return
    rng, L = np.random.default_rng(seed), 1 / (2 * step_bound(table))
    scale = 1 / np.linalg.norm(table.embeddings, axis=1).max()
    for size in (1e-3, 1.0):
        W, step = scale * rng.standard_normal((2, table.vocab_size, table.dim))
        change = np.linalg.norm(table.gradient(W + size * step) - table.gradient(W))
        assert (
            change
            <= L * size * np.linalg.norm(step) * (1 + 1e-9) + 1e-13 * np.abs(table.embeddings).max()
        )


def test_the_step_bound_is_reached_by_two_tokens_at_one_half():
    table = ContextTable(np.array([[2.0]]), np.array([[1.0, 0.0]]), np.ones(1))
    tiny = 1e-6 * np.array([[1.0], [-1.0]])
    curvature = np.linalg.norm(table.gradient(tiny) - table.gradient(0 * tiny)) / np.linalg.norm(
        tiny
    )
    assert step_bound(table) == pytest.approx(1 / (2 * curvature), rel=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"optimizer": "sgd"},
            r"`batch_size` must be an integer for 'sgd' and None for the others, here 'sgd', got N",
        ),
        ({"batch_size": 4}, r"`batch_size` must .* here 'gd', got 4\."),
        ({"keep": 0}, r"`keep` must be at least 1 snapshot, or a sequence of steps, got 0\."),
        (
            {"keep": [3, 2]},
            r"`keep` must hold increasing steps in 0 … 10 \(`steps`\), got \[3, 2\]",
        ),
        ({"keep": [11]}, r"`keep` must hold increasing steps in 0 … 10"),
        (
            {"learning_rate": 0.0},
            r"`learning_rate` must be positive and finite, or a function of the step, got 0\.0",
        ),
        ({"betas": (0.9, 1.0)}, r"`betas` must be at least 0 and below 1, got 1\.0\."),
        ({"epsilon": 0.0}, r"`epsilon` must be positive and finite, 1e-300 for next to none, "),
    ],
)
def test_errors_come_before_the_first_step_and_say_what_to_do(table, rng, change, words):
    settings = {
        "optimizer": "gd",
        "learning_rate": 0.1,
        "steps": 10,
        "keep": [1],
        "rng": rng,
    } | change
    with pytest.raises(ValueError, match=words):
        descend(table, **settings)


def test_no_step_is_too_long_for_a_constant_loss():
    with pytest.raises(ValueError, match=r"All embeddings are zero: the loss is constant"):
        step_bound(ContextTable(np.zeros((1, 2)), np.array([[1.0, 0.0]]), np.ones(1)))


@given(degenerate_tables(), st.integers(0, 1000), st.sampled_from([0.0, 1.0, 30.0]))
def test_the_full_gradient_is_that_of_the_table(table, seed, size):
    W = size * np.random.default_rng(seed).standard_normal((table.vocab_size, table.dim))
    gradient, expected = FullGradient(table), table.gradient(W)
    for _ in range(2):  # buffers hold nothing over
        assert np.allclose(
            gradient(W),
            expected,
            rtol=0,
            atol=1e-13 * (1 + np.abs(table.embeddings).max()) * (1 + size),
        )


def test_gradients_of_one_hot_contexts_keep_their_digits(rng):
    table = ContextTable.random(4, 3, 1, 5, rng)
    # margins of 60: off-support probabilities e^−60
    W = 60 * (np.linalg.pinv(table.embeddings) @ table.support.toarray()).T
    # two tokens off each support
    residual = np.exp(-60.0) * np.where(table.support.toarray(), -2.0, 1.0)
    assert np.allclose(
        FullGradient(table)(W), residual.T @ table.embeddings / 4, rtol=1e-10, atol=0
    )


def test_where_the_support_has_no_mass_left_the_gradient_is_that_of_the_limit():
    table = ContextTable(np.eye(2), np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]), np.full(2, 0.5))
    W = np.array([[-3000.0, 0.0], [-2000.0, 4000.0], [0.0, 0.0]])
    assert np.allclose(
        FullGradient(table)(W), [[-0.25, 0.0], [-0.25, 0.5], [0.5, -0.5]], atol=1e-12
    )


def test_every_sample_is_the_gradient_of_its_own_loss(rng):
    table = ContextTable.random(3, 4, 2, 5, rng)
    W = rng.standard_normal((4, 5))
    one_token = [
        ContextTable(table.embeddings[j : j + 1], np.eye(4)[z : z + 1], np.ones(1)).gradient(W)
        for j, z in zip(*np.nonzero(table.next_token), strict=True)
    ]
    sampled = SampledGradient(table, 1, rng)
    seen = {
        int(np.argmin([np.abs(sampled(W) - one).max() for one in one_token])) for _ in range(300)
    }
    assert min(np.abs(sampled(W) - one).max() for one in one_token) < 1e-12
    assert seen == set(range(6))
